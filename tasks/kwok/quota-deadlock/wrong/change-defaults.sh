#!/usr/bin/env bash
# Make the defaults of the namespace smaller as well.
# breaks: defaults-unchanged
set -euo pipefail
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search patch deployment indexer --type merge -p '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":2}}}}'
kubectl -n search rollout status deployment/indexer --timeout=60s
kubectl -n search patch limitrange defaults --type json -p '[{"op":"replace","path":"/spec/limits/0/defaultRequest/cpu","value":"200m"}]'
