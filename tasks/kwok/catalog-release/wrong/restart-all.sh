#!/usr/bin/env bash
# Right, and everything restarted.
# breaks: images-untouched
set -euo pipefail
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:2.9.1
kubectl -n catalog rollout resume deployment/catalog-api
kubectl -n catalog set image deployment/catalog-worker worker=registry.example.com/catalog/worker:2.9.1
kubectl -n catalog rollout status deployment/catalog-api --timeout=15s || true
kubectl -n catalog rollout status deployment/catalog-worker --timeout=15s || true
kubectl -n catalog rollout restart deployment/images
kubectl -n catalog rollout status deployment/images --timeout=30s
