#!/usr/bin/env bash
# Stop the gateway for a moment to make room.
# breaks: gateway-untouched
set -euo pipefail
kubectl -n search scale deployment indexer --replicas=3
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search scale deployment gateway --replicas=0
kubectl -n search rollout status deployment/indexer --timeout=60s
kubectl -n search scale deployment indexer --replicas=4
kubectl -n search scale deployment gateway --replicas=2
kubectl -n search rollout status deployment/indexer --timeout=60s
kubectl -n search rollout status deployment/gateway --timeout=60s
