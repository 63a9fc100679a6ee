#!/usr/bin/env bash
# Right, with payouts taken out of its Service while it rolls.
# breaks: no-gap
set -euo pipefail
kubectl -n payments patch service payouts --type merge -p '{"spec":{"selector":{"app":"payouts","maintenance":"off"}}}'
sleep 2
sec='{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"runAsUser":10001,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"spool","emptyDir":{}}}]'
kubectl -n payments patch deployment refunds --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments patch cronjob settlement-file --type json -p '[{"op":"add","path":"/spec/jobTemplate/spec/template/spec/initContainers/0/securityContext","value":'"$sec"'}]'
kubectl -n payments rollout status deployment/payouts --timeout=20s || true
kubectl -n payments rollout status deployment/refunds --timeout=20s || true
kubectl -n payments patch service payouts --type json -p '[{"op":"remove","path":"/spec/selector/maintenance"}]'
sleep 2
