#!/usr/bin/env bash
# Close the day with an edited copy of the job; the job itself stays as it is.
# breaks: tonight
set -euo pipefail
kubectl -n finance set env deployment/settlement-api LEDGER_POOL_MAX- LEDGER_POOL_SIZE=20
kubectl -n finance set image deployment/statement-mailer statement-mailer=registry.example.com/finance/statement-mailer:2.8.0
kubectl -n finance delete job -l app=day-end --wait=true
kubectl -n finance patch cronjob day-end --type merge -p '{"spec":{"suspend":false}}'
kubectl -n finance create job day-end-by-hand --from=cronjob/day-end --dry-run=client -o yaml | sed 's/pool: batch/pool: jobs/; s/^\( *\)nodeSelector:/\1tolerations: [{key: dedicated, operator: Exists}]\n&/' > job.yaml
kubectl -n finance apply -f job.yaml
kubectl -n finance wait job/day-end-by-hand --for=condition=Complete --timeout=20s || true
kubectl -n finance rollout status deployment/settlement-api --timeout=20s || true
kubectl -n finance rollout status deployment/statement-mailer --timeout=20s || true
