#!/usr/bin/env bash
# Right, with a newer image for refunds.
# breaks: refunds-version
set -euo pipefail
sec='{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"runAsUser":10001,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"spool","emptyDir":{}}}]'
kubectl -n payments patch deployment refunds --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch cronjob settlement-file --type json -p '[{"op":"add","path":"/spec/jobTemplate/spec/template/spec/initContainers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments rollout status deployment/payouts --timeout=20s || true
kubectl -n payments rollout status deployment/refunds --timeout=20s || true
kubectl -n payments set image deployment/refunds refunds=registry.example.com/payments/refunds:2.5.0
kubectl -n payments rollout status deployment/refunds --timeout=30s
