#!/usr/bin/env bash
# Drained; the extra copy stays, pending for ever.
# breaks: complete
set -euo pipefail
kubectl cordon worker-1
kubectl -n shop scale deployment sessions --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
kubectl -n shop scale deployment coupons --replicas=2
kubectl -n shop rollout status deployment/coupons --timeout=60s
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
kubectl -n shop scale deployment coupons --replicas=1
