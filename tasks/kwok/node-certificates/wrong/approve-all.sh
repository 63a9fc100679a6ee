#!/usr/bin/env bash
# The line from the blog posts.
# breaks: others-denied, next-time, no-strangers, not-ours
# rung: first-obvious-fix
set -euo pipefail
kubectl get csr -o name | xargs kubectl certificate approve || true
