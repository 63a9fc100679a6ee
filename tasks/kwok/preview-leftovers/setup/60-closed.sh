#!/usr/bin/env bash
# Three previews are closed.
set -euo pipefail
kubectl delete namespace preview-398 preview-405 preview-412 --wait=false >/dev/null
