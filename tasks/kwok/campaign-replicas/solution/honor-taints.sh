#!/usr/bin/env bash
# A zone whose nodes repel the pods is no zone to count.
set -euo pipefail
# fix: frontend
kubectl -n shop patch deployment frontend --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
# fix: webhooks
kubectl -n shop patch deployment webhooks --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
# end
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
