#!/usr/bin/env bash
# Take the tag that always works.
# breaks: api-released, worker-released
set -euo pipefail
kubectl -n catalog set image deployment/catalog-api api=registry.example.com/catalog/api:latest
kubectl -n catalog set image deployment/catalog-worker worker=registry.example.com/catalog/worker:latest
kubectl -n catalog rollout resume deployment/catalog-api
