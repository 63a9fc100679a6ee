#!/usr/bin/env bash
# Stop everything, start everything.
# breaks: two-serving
set -euo pipefail
kubectl -n ledger set image statefulset/ledger-db db=registry.example.com/ledger/db:17.4-3
kubectl -n ledger patch statefulset ledger-db --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
kubectl -n ledger scale statefulset ledger-db --replicas=0
sleep 2
kubectl -n ledger scale statefulset ledger-db --replicas=3
kubectl -n ledger rollout status statefulset/ledger-db --timeout=25s || true
