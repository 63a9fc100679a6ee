#!/usr/bin/env bash
# What the level asks for, container by container; the spool needs no node.
set -euo pipefail
sec='{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"runAsUser":10001,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}'
# fix: payouts runs as root
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
# fix: payouts mounts a directory of the node
kubectl -n payments patch deployment payouts --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"spool","emptyDir":{}}}]'
# fix: refunds would not come back either
kubectl -n payments patch deployment refunds --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/securityContext","value":'"$sec"'}]'
# fix: tonight's job has a step that is not hardened
kubectl -n payments patch cronjob settlement-file --type json -p '[{"op":"add","path":"/spec/jobTemplate/spec/template/spec/initContainers/0/securityContext","value":'"$sec"'}]'
# end
kubectl -n payments rollout status deployment/payouts --timeout=20s || true
kubectl -n payments rollout status deployment/refunds --timeout=20s || true
