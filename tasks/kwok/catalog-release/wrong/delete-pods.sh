#!/usr/bin/env bash
# Right, and the old pods deleted to speed it up.
# breaks: three-serving
set -euo pipefail
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:2.9.1
kubectl -n catalog rollout resume deployment/catalog-api
kubectl -n catalog set image deployment/catalog-worker worker=registry.example.com/catalog/worker:2.9.1
kubectl -n catalog rollout status deployment/catalog-api --timeout=15s || true
kubectl -n catalog rollout status deployment/catalog-worker --timeout=15s || true
kubectl -n catalog patch deployment catalog-api --type merge -p '{"spec":{"replicas":0}}'
sleep 2
kubectl -n catalog patch deployment catalog-api --type merge -p '{"spec":{"replicas":3}}'
kubectl -n catalog rollout status deployment/catalog-api --timeout=30s
