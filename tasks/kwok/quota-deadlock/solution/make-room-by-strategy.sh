#!/usr/bin/env bash
# The quota leaves 100m: no surge pod fits, and without one nothing may go. Let the rollout go down to two.
set -euo pipefail
# fix: requests by the sizing rules
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
# fix: a rollout that needs no room above the quota
kubectl -n search patch deployment indexer --type merge -p '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":2}}}}'
# end
kubectl -n search rollout status deployment/indexer --timeout=20s || true
