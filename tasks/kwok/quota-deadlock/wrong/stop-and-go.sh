#!/usr/bin/env bash
# Scale to zero to make room, then to four.
# breaks: two-serving
set -euo pipefail
kubectl -n search scale deployment indexer --replicas=0
sleep 6
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search scale deployment indexer --replicas=4
kubectl -n search rollout status deployment/indexer --timeout=60s
