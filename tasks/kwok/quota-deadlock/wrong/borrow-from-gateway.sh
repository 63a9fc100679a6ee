#!/usr/bin/env bash
# Stop the gateway for a moment to make room.
# breaks: gateway-untouched
set -euo pipefail
kubectl -n search scale deployment gateway --replicas=0
kubectl -n search wait resourcequota/compute --for=jsonpath='{.status.used.requests\.cpu}'=1500m --timeout=60s
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search rollout status deployment/indexer --timeout=60s
kubectl -n search scale deployment gateway --replicas=2
kubectl -n search rollout status deployment/gateway --timeout=60s
