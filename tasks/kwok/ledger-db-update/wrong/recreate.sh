#!/usr/bin/env bash
# Delete the set, keep the pods, and create it as it should be.
# breaks: ..., not-recreated
set -euo pipefail
kubectl -n ledger get statefulset ledger-db -o yaml > /tmp/db.yaml
kubectl -n ledger delete statefulset ledger-db --cascade=orphan
sed -i "/resourceVersion:/d; /uid:/d; /creationTimestamp:/d; /^status:/,\$d; s/17.4-2/17.4-3/; s/partition: 2/partition: 0/" /tmp/db.yaml
kubectl apply -f /tmp/db.yaml
kubectl -n ledger delete pod ledger-db-2
kubectl -n ledger wait pod/ledger-db-2 --for=condition=Ready --timeout=20s || true
kubectl -n ledger rollout status statefulset/ledger-db --timeout=25s || true
