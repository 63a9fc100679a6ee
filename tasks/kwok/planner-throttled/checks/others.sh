#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/level.sh"
reads search:indexer search "/api/v1/pods?limit=1"
reads dispatch:label-printer background "/api/v1/namespaces/dispatch/pods?limit=1"
reads dispatch:label-printer workload-low /api/v1/namespaces/dispatch/configmaps/routes
reads ci:runner background "/api/v1/pods?limit=1"
reads search:crawler background "/api/v1/pods?limit=1"
reads billing:default workload-low /api/v1/namespaces/billing/configmaps/rates
expect oncall get --raw "/api/v1/pods?limit=1" --as=anna --as-group=oncall --as-group=system:authenticated &
verdict
