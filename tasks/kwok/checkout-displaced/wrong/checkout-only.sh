#!/usr/bin/env bash
# Give checkout its class: the page clears.
# breaks: shop-first, no-default, batch-waits
# rung: first-obvious-fix
set -euo pipefail
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
