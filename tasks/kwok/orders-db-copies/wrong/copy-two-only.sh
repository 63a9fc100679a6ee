#!/usr/bin/env bash
# Copy 2 has its data, the rest can wait.
# breaks: copy-three, next-copies
# rung: honest-partial
set -euo pipefail
kubectl patch pv vol-77c21b --type merge -p '{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}'
kubectl -n orders delete pvc data-orders-db-2 --wait=true
kubectl -n orders delete pod orders-db-2 --wait=true
kubectl uncordon db-c-0
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
