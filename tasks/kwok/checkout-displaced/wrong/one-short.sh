#!/usr/bin/env bash
# Right, and one pod fewer, since traffic is low in the afternoon.
# breaks: checkout-complete
set -euo pipefail
kubectl patch priorityclass standard --type merge -p '{"globalDefault":false}'
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop patch deployment cart -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n analytics patch deployment sessionize -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"priorityClassName":"batch-low"}}}}'
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
kubectl -n shop scale deployment checkout --replicas=7
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
