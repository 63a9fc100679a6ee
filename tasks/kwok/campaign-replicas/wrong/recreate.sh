#!/usr/bin/env bash
# Right, with a Deployment made anew above its old pods.
# breaks: not-recreated
set -euo pipefail
kubectl -n shop patch deployment frontend --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
kubectl -n shop patch deployment webhooks --type json -p '[{"op":"add","path":"/spec/template/spec/topologySpreadConstraints/0/nodeTaintsPolicy","value":"Honor"}]'
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
kubectl -n shop get deployment frontend -o yaml > /tmp/frontend.yaml
kubectl -n shop delete deployment frontend --cascade=orphan
sed -i "/resourceVersion:/d; /uid:/d; /creationTimestamp:/d; /^status:/,\$d" /tmp/frontend.yaml
kubectl apply -f /tmp/frontend.yaml
kubectl -n shop rollout status deployment/frontend --timeout=25s
