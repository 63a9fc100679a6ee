#!/usr/bin/env bash
# One more copy first, but then delete instead of evict.
# breaks: evicted-not-deleted
set -euo pipefail
kubectl cordon worker-1
kubectl -n shop scale deployment sessions --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
kubectl -n shop delete pods --field-selector spec.nodeName=worker-1
kubectl -n shop scale deployment sessions --replicas=3
