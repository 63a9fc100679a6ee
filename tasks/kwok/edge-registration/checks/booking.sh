#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/next.sh"
register booking deployment booking-web=eu-booking search-api=eu-search fares=eu-fares
