#!/usr/bin/env bash
# The version first, then go on: resuming with the old one would start pods that cannot pull.
set -euo pipefail
# fix: the version that exists
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:2.9.1
# fix: go on
kubectl -n catalog rollout resume deployment/catalog-api
# fix: the worker moves with it
kubectl -n catalog set image deployment/catalog-worker worker=registry.example.com/catalog/worker:2.9.1
# end
kubectl -n catalog rollout status deployment/catalog-api --timeout=15s || true
kubectl -n catalog rollout status deployment/catalog-worker --timeout=15s || true
