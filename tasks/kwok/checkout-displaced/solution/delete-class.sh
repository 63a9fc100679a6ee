#!/usr/bin/env bash
# Classes by the deployments' own commands, then the class that nobody asked for goes.
set -euo pipefail
# fix: batch work
kubectl -n analytics patch deployment sessionize -p '{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":"100%"}},"template":{"spec":{"priorityClassName":"batch-low"}}}}'
# fix: the shop
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop patch deployment cart -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
# fix: the class that applied to all
kubectl delete priorityclass standard
# end
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
