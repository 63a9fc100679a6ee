#!/usr/bin/env bash
# Delete the old pods to make room for the new ones.
# breaks: ..., payouts-released, refunds-hardened, tonight, no-gap
set -euo pipefail
kubectl -n payments delete pods --all
