#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/next.sh"
register kiosk deployment kiosk-web=eu-kiosk
