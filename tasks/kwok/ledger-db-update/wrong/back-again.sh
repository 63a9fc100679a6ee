#!/usr/bin/env bash
# Back to what ran, with the spare copy.
# breaks: third-copy, others-updated
set -euo pipefail
kubectl -n ledger set image statefulset/ledger-db db=registry.example.com/ledger/db:17.4-1
kubectl -n ledger delete pod ledger-db-2
kubectl -n ledger wait pod/ledger-db-2 --for=condition=Ready --timeout=20s || true
