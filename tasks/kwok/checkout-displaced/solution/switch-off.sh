#!/usr/bin/env bash
# The default off, and everybody what was agreed.
set -euo pipefail
# fix: no priority without asking
kubectl patch priorityclass standard --type merge -p '{"globalDefault":false}'
# fix: the shop
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop patch deployment cart -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
# fix: batch work
kubectl -n analytics patch deployment sessionize -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"priorityClassName":"batch-low"}}}}'
# end
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
