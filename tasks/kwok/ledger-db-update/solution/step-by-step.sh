#!/usr/bin/env bash
# The image, the broken copy, then the others.
set -euo pipefail
# fix: an image that exists
kubectl -n ledger set image statefulset/ledger-db db=registry.example.com/ledger/db:17.4-3
# fix: the broken copy is not replaced by itself
kubectl -n ledger delete pod ledger-db-2
kubectl -n ledger wait pod/ledger-db-2 --for=condition=Ready --timeout=20s || true
# fix: the others as well
kubectl -n ledger patch statefulset ledger-db --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
# end
kubectl -n ledger rollout status statefulset/ledger-db --timeout=25s || true
