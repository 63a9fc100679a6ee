#!/usr/bin/env bash
# Restart pricing and hope.
# breaks: endpoints, target-port, pods-untouched
set -euo pipefail
kubectl -n shop rollout restart deployment/pricing
kubectl -n shop rollout status deployment/pricing --timeout=60s
