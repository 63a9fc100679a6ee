#!/usr/bin/env bash
# The pages are clear; the figures will follow, it seems.
# breaks: day-closed, tonight
# rung: first-obvious-fix
set -euo pipefail
kubectl -n finance set env deployment/settlement-api LEDGER_POOL_MAX- LEDGER_POOL_SIZE=20
kubectl -n finance set image deployment/statement-mailer statement-mailer=registry.example.com/finance/statement-mailer:2.8.0
kubectl -n finance rollout status deployment/settlement-api --timeout=20s || true
