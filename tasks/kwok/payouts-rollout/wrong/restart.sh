#!/usr/bin/env bash
# Restart the rollout.
# breaks: payouts-released, refunds-hardened, tonight
set -euo pipefail
kubectl -n payments rollout restart deployment/payouts deployment/refunds
