#!/usr/bin/env bash
# Right in the end, but three pods were not there for a moment.
# breaks: three-copies
set -euo pipefail
kubectl cordon worker-1
kubectl -n shop scale deployment sessions --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
kubectl -n shop scale deployment coupons --replicas=2
kubectl -n shop rollout status deployment/coupons --timeout=60s
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
kubectl -n shop scale deployment sessions --replicas=3
kubectl -n shop scale deployment coupons --replicas=1
kubectl -n shop rollout status deployment/sessions --timeout=30s
kubectl -n shop scale deployment sessions --replicas=2
sleep 2
kubectl -n shop scale deployment sessions --replicas=3
kubectl -n shop rollout status deployment/sessions --timeout=60s
