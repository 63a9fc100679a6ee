#!/usr/bin/env bash
# The campaign's frontend; webhooks is left to its rollout.
# breaks: webhooks-released
# rung: honest-partial
set -euo pipefail
kubectl -n shop patch deployment frontend --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
