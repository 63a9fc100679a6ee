#!/usr/bin/env bash
# Drain as the colleague did.
# breaks: empty
set -euo pipefail
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=5s || true
