#!/usr/bin/env bash
# Name the image that exists and wait.
# breaks: third-copy, others-updated
# rung: first-obvious-fix
set -euo pipefail
kubectl -n ledger set image statefulset/ledger-db db=registry.example.com/ledger/db:17.4-3
kubectl -n ledger rollout status statefulset/ledger-db --timeout=5s || true
