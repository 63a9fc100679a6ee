#!/usr/bin/env bash
# A new day-end in place of the old.
# breaks: same-terms
set -euo pipefail
kubectl -n finance set env deployment/settlement-api LEDGER_POOL_MAX- LEDGER_POOL_SIZE=20
kubectl -n finance set image deployment/statement-mailer statement-mailer=registry.example.com/finance/statement-mailer:2.8.0
kubectl -n finance get cronjob day-end -o yaml | sed '/uid:/d; /resourceVersion:/d; /creationTimestamp:/d; /^status:/,$d; s/pool: batch/pool: jobs/; s/suspend: true/suspend: false/; s/^\( *\)nodeSelector:/\1tolerations: [{key: dedicated, operator: Exists}]\n&/' > day-end.yaml
kubectl -n finance delete cronjob day-end
kubectl -n finance apply -f day-end.yaml
kubectl -n finance create job day-end-by-hand --from=cronjob/day-end
kubectl -n finance wait job/day-end-by-hand --for=condition=Complete --timeout=20s || true
kubectl -n finance rollout status deployment/settlement-api --timeout=20s || true
kubectl -n finance rollout status deployment/statement-mailer --timeout=20s || true
