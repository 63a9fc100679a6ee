#!/usr/bin/env bash
# Delete the Deployment, keep its pods, create it again with the right numbers.
# breaks: not-recreated
set -euo pipefail
kubectl -n search get deployment indexer -o yaml > /tmp/indexer.yaml
sed -i "/resourceVersion:/d; /uid:/d; /creationTimestamp:/d; /^status:/,\$d; s/maxSurge: 1/maxSurge: 0/; s/maxUnavailable: 0/maxUnavailable: 2/" /tmp/indexer.yaml
kubectl -n search delete deployment indexer --cascade=orphan
kubectl apply -f /tmp/indexer.yaml
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search rollout status deployment/indexer --timeout=60s
