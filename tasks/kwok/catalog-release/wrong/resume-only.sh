#!/usr/bin/env bash
# Resume what Jonas started.
# rung: first-obvious-fix
# breaks: api-released, worker-released
set -euo pipefail
kubectl -n catalog rollout resume deployment/catalog-api
