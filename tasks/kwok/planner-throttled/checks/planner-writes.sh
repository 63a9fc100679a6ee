#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/level.sh"
updates dispatch:route-planner dispatch /apis/coordination.k8s.io/v1/namespaces/dispatch/leases/route-planner
creates dispatch:route-planner dispatch /api/v1/namespaces/dispatch/events
reads dispatch:route-planner dispatch /version
verdict
