#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/next.sh"
register booking statefulset tickets=eu-tickets
