#!/usr/bin/env bash
# The release mended, the job led to its pool, one run by hand.
set -euo pipefail
# fix: the setting
kubectl -n finance set env deployment/settlement-api LEDGER_POOL_MAX- LEDGER_POOL_SIZE=20
# fix: an image that exists
kubectl -n finance set image deployment/statement-mailer statement-mailer=registry.example.com/finance/statement-mailer:2.8.0
# fix: where the job runs
kubectl -n finance patch cronjob day-end --type merge -p '{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"nodeSelector":{"pool":"jobs"},"tolerations":[{"key":"dedicated","operator":"Equal","value":"jobs","effect":"NoSchedule"}]}}}}}}'
# fix: the run that hangs
kubectl -n finance delete job -l app=day-end --wait=true
# fix: the missing day
kubectl -n finance create job day-end-by-hand --from=cronjob/day-end
# fix: tonight
kubectl -n finance patch cronjob day-end --type merge -p '{"spec":{"suspend":false}}'
# end
kubectl -n finance wait job/day-end-by-hand --for=condition=Complete --timeout=20s || true
kubectl -n finance rollout status deployment/settlement-api --timeout=20s || true
kubectl -n finance rollout status deployment/statement-mailer --timeout=20s || true
