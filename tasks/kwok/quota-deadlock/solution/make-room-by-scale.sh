#!/usr/bin/env bash
# Give up one old pod for a moment: then the surge pods of the usual rollout fit.
set -euo pipefail
kubectl -n search scale deployment indexer --replicas=2
kubectl -n search wait deployment/indexer --for=jsonpath='{.status.replicas}'=2 --timeout=60s
# fix: requests by the sizing rules
kubectl -n search set resources deployment indexer --requests cpu=200m,memory=240Mi
kubectl -n search rollout status deployment/indexer --timeout=60s
# fix: back to four
kubectl -n search scale deployment indexer --replicas=4
# end
kubectl -n search rollout status deployment/indexer --timeout=20s || true
