#!/usr/bin/env bash
# Right, with a Deployment made anew under its old pods.
# breaks: not-recreated
set -euo pipefail
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:2.9.1
kubectl -n catalog rollout resume deployment/catalog-api
kubectl -n catalog set image deployment/catalog-worker worker=registry.example.com/catalog/worker:2.9.1
kubectl -n catalog rollout status deployment/catalog-api --timeout=15s || true
kubectl -n catalog rollout status deployment/catalog-worker --timeout=15s || true
kubectl -n catalog get deployment catalog-worker -o yaml > /tmp/worker.yaml
kubectl -n catalog delete deployment catalog-worker --cascade=orphan
sed -i "/resourceVersion:/d; /uid:/d; /creationTimestamp:/d; /^status:/,\$d" /tmp/worker.yaml
kubectl apply -f /tmp/worker.yaml
kubectl -n catalog rollout status deployment/catalog-worker --timeout=30s
