#!/usr/bin/env bash
# New disks for both: that is what the wiki says.
# breaks: copy-two, copy-three, next-copies
# rung: first-obvious-fix
set -euo pipefail
kubectl uncordon db-c-0
kubectl -n orders delete pvc data-orders-db-2 data-orders-db-3
kubectl -n orders delete pod orders-db-2 orders-db-3
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
