#!/usr/bin/env bash
# What the pipeline does on every merge to main.
set -euo pipefail
cd "$(dirname "$0")"
kubectl apply --server-side --field-manager=shipper -f manifests/
