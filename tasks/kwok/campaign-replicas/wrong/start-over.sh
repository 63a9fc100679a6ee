#!/usr/bin/env bash
# Down to nothing, and up again from there.
# breaks: four-serving
set -euo pipefail
kubectl -n shop scale deployment frontend --replicas=0
sleep 2
kubectl -n shop patch deployment frontend --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
kubectl -n shop patch deployment webhooks --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
kubectl -n shop scale deployment frontend --replicas=8
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
