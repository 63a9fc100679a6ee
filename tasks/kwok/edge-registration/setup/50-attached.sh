#!/usr/bin/env bash
# What the controller of those days reported.
set -euo pipefail
now=$(date -u +%FT%TZ)
for ns in booking kiosk; do
  # shellcheck disable=SC2046
  kubectl -n $ns patch $(kubectl -n $ns get pods -l tier=edge -o name) --subresource=status --field-manager=edge-attach \
    -p "{\"status\":{\"conditions\":[{\"type\":\"edge.example.com/attached\",\"status\":\"True\",\"reason\":\"Attached\",\"lastTransitionTime\":\"$now\"}]}}" >/dev/null &
done
wait
