#!/usr/bin/env bash
# Template and partition in one patch; the set goes on once the broken copy is gone.
set -euo pipefail
# fix: image and partition
kubectl -n ledger patch statefulset ledger-db -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}},"template":{"spec":{"containers":[{"name":"db","image":"registry.example.com/ledger/db:17.4-3"}]}}}}'
# fix: the broken copy
kubectl -n ledger delete pod ledger-db-2
# end
kubectl -n ledger rollout status statefulset/ledger-db --timeout=25s || true
