#!/usr/bin/env bash
# Make the rule a wish.
# breaks: spread-enforced
# rung: first-obvious-fix
set -euo pipefail
kubectl -n shop patch deployment frontend --type json -p '[{"op":"replace","path":"/spec/template/spec/topologySpreadConstraints/0/whenUnsatisfiable","value":"ScheduleAnyway"}]'
kubectl -n shop patch deployment webhooks --type json -p '[{"op":"replace","path":"/spec/template/spec/topologySpreadConstraints/0/whenUnsatisfiable","value":"ScheduleAnyway"}]'
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
