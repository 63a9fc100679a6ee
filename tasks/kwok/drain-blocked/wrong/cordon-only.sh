#!/usr/bin/env bash
# Cordon and wait.
# breaks: empty
set -euo pipefail
kubectl cordon worker-1
