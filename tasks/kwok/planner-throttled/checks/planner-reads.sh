#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/level.sh"
reads dispatch:route-planner dispatch "/api/v1/pods?limit=1"
reads dispatch:route-planner dispatch "/api/v1/namespaces/dispatch/configmaps?limit=1"
reads dispatch:route-planner dispatch /api/v1/nodes/worker-0
verdict
