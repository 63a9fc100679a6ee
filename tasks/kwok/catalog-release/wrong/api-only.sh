#!/usr/bin/env bash
# Get the api out, forget the queue.
# rung: honest-partial
# breaks: worker-released
set -euo pipefail
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:2.9.1
kubectl -n catalog rollout resume deployment/catalog-api
kubectl -n catalog rollout status deployment/catalog-api --timeout=15s || true
