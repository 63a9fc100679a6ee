#!/usr/bin/env bash
# Right, and then one copy goes to a node that does not exist.
# breaks: ..., three-copies
set -euo pipefail
kubectl cordon worker-1
kubectl -n shop scale deployment sessions --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
kubectl -n shop scale deployment coupons --replicas=2
kubectl -n shop rollout status deployment/coupons --timeout=60s
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
kubectl -n shop scale deployment sessions --replicas=3
kubectl -n shop scale deployment coupons --replicas=1
kubectl -n shop patch deployment sessions --type merge -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"nodeSelector":{"pool":"none"}}}}}'
until [ -z "$(kubectl -n shop get deployment sessions -o jsonpath="{.status.readyReplicas}")" ]; do sleep 0.2; done
