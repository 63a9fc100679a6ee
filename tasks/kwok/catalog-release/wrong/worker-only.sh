#!/usr/bin/env bash
# Workers are out, the api is still paused.
# breaks: api-released
set -euo pipefail
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:2.9.1
kubectl -n catalog set image deployment/catalog-worker worker=registry.example.com/catalog/worker:2.9.1
kubectl -n catalog rollout status deployment/catalog-api --timeout=15s || true
kubectl -n catalog rollout status deployment/catalog-worker --timeout=15s || true
