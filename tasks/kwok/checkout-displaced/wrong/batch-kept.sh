#!/usr/bin/env bash
# Shop and default; what runs keeps the priority that it was born with.
# breaks: batch-waits
# rung: honest-partial
set -euo pipefail
kubectl patch priorityclass standard --type merge -p '{"globalDefault":false}'
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop patch deployment cart -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
