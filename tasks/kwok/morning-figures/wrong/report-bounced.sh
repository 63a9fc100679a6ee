#!/usr/bin/env bash
# Right, with the report stopped so that it forgets what it has.
# breaks: report-up
set -euo pipefail
kubectl -n finance scale deployment report-web --replicas=0
sleep 2
kubectl -n finance scale deployment report-web --replicas=2
kubectl -n finance set env deployment/settlement-api LEDGER_POOL_MAX- LEDGER_POOL_SIZE=20
kubectl -n finance set image deployment/statement-mailer statement-mailer=registry.example.com/finance/statement-mailer:2.8.0
kubectl -n finance patch cronjob day-end --type merge -p '{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"nodeSelector":{"pool":"jobs"},"tolerations":[{"key":"dedicated","operator":"Equal","value":"jobs","effect":"NoSchedule"}]}}}}}}'
kubectl -n finance delete job -l app=day-end --wait=true
kubectl -n finance create job day-end-by-hand --from=cronjob/day-end
kubectl -n finance patch cronjob day-end --type merge -p '{"spec":{"suspend":false}}'
kubectl -n finance wait job/day-end-by-hand --for=condition=Complete --timeout=20s || true
kubectl -n finance rollout status deployment/settlement-api --timeout=20s || true
kubectl -n finance rollout status deployment/statement-mailer --timeout=20s || true
kubectl -n finance rollout status deployment/report-web --timeout=20s || true
