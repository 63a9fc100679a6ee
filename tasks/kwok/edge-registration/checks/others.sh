#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/next.sh"
wait_for_nothing booking deployment booking-mailer seat-cache
wait_for_nothing kiosk deployment kiosk-sync
