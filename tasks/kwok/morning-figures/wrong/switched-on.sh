#!/usr/bin/env bash
# The job is off: switch it on.
# breaks: day-closed, tonight
# rung: honest-partial
set -euo pipefail
kubectl -n finance set env deployment/settlement-api LEDGER_POOL_MAX- LEDGER_POOL_SIZE=20
kubectl -n finance set image deployment/statement-mailer statement-mailer=registry.example.com/finance/statement-mailer:2.8.0
kubectl -n finance patch cronjob day-end --type merge -p '{"spec":{"suspend":false}}'
