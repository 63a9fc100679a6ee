#!/usr/bin/env bash
# A budget of "all of them" is met by having one more for the time of the eviction.
set -euo pipefail
kubectl cordon worker-1
# fix: one more copy of sessions
kubectl -n shop scale deployment sessions --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
# fix: one more coupons
kubectl -n shop scale deployment coupons --replicas=2
kubectl -n shop rollout status deployment/coupons --timeout=60s
# fix: drain
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
# fix: sessions back to three
kubectl -n shop scale deployment sessions --replicas=3
# fix: coupons back to one
kubectl -n shop scale deployment coupons --replicas=1
# end
