#!/usr/bin/env bash
# Right, and then stopped for a moment that never ends: none is left to serve.
# breaks: ..., two-serving
set -euo pipefail
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search patch deployment indexer --type merge -p '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":2}}}}'
kubectl -n search rollout status deployment/indexer --timeout=60s
kubectl -n search patch deployment indexer --type merge -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"nodeSelector":{"pool":"search"}}}}}'
until [ -z "$(kubectl -n search get deployment indexer -o jsonpath="{.status.readyReplicas}")" ]; do sleep 0.2; done
