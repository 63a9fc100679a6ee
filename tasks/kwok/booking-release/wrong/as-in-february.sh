#!/usr/bin/env bash
# Deleted and applied again, as last time.
# breaks: next-release, next-selection, main-agrees, six-ready, ...
# rung: first-obvious-fix
set -euo pipefail
kubectl -n booking delete deployment booking-api booking-worker
kubectl apply -f booking-deploy/prod/
kubectl -n booking scale deployment booking-api --replicas=6
kubectl -n booking rollout status deployment/booking-api --timeout=60s
sleep 2
