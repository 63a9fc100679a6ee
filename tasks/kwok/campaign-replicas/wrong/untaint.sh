#!/usr/bin/env bash
# Open the accelerated pool.
# breaks: pool-reserved
set -euo pipefail
kubectl taint node accelerated-0 dedicated-
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
