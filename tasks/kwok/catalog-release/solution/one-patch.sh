#!/usr/bin/env bash
# Workers first, and the api in one patch.
set -euo pipefail
# fix: worker
kubectl -n catalog patch deployment catalog-worker -p '{"spec":{"template":{"spec":{"containers":[{"name":"worker","image":"registry.example.com/catalog/worker:2.9.1"}]}}}}'
kubectl -n catalog rollout status deployment/catalog-worker --timeout=60s
# fix: api
kubectl -n catalog patch deployment catalog-api -p '{"spec":{"paused":false,"template":{"spec":{"containers":[{"name":"api","image":"registry.example.com/catalog/api:2.9.1"}]}}}}'
kubectl -n catalog rollout status deployment/catalog-api --timeout=60s
# end
