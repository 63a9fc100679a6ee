#!/usr/bin/env bash
# Stop when endpoints appear.
# rung: first-obvious-fix
# breaks: target-port
set -euo pipefail
kubectl -n shop patch service pricing --type merge -p '{"spec":{"selector":{"app.kubernetes.io/component":"api"}}}'
