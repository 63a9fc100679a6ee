#!/usr/bin/env bash
# Take a gateway pod away to make room.
# breaks: gateway-untouched
set -euo pipefail
kubectl -n search scale deployment gateway --replicas=1
sleep 0.3
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search rollout status deployment/indexer --timeout=60s
kubectl -n search scale deployment gateway --replicas=2
