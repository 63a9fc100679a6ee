#!/usr/bin/env bash
# Raise the quota: the fourth pod appears at once.
# rung: first-obvious-fix
# breaks: sized, quota-unchanged
set -euo pipefail
kubectl -n search patch resourcequota compute --type merge -p '{"spec":{"hard":{"requests.cpu":"3"}}}'
kubectl -n search patch deployment indexer --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"restarted":"now"}}}}}'
kubectl -n search rollout status deployment/indexer --timeout=60s
