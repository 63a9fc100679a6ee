#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/level.sh"
reads billing:invoice-runner billing "/api/v1/pods?limit=1"
reads billing:invoice-runner billing "/api/v1/namespaces/billing/configmaps?limit=1"
updates billing:invoice-runner billing /apis/coordination.k8s.io/v1/namespaces/billing/leases/invoice-runner
verdict
