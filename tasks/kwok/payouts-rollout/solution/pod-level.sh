#!/usr/bin/env bash
# The same with what can be said once for the pod.
set -euo pipefail
harden() {
  kubectl -n payments patch deployment "$1" --type strategic -p '{"spec":{"template":{"spec":{
    "securityContext":{"runAsNonRoot":true,"runAsUser":10001,"seccompProfile":{"type":"RuntimeDefault"}},
    "containers":[{"name":"'"$1"'","securityContext":{"runAsUser":null,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}}}'
}
# fix: payouts
kubectl -n payments patch deployment payouts --type strategic -p '{"spec":{"template":{"spec":{"volumes":[{"name":"spool","hostPath":null,"emptyDir":{}}]}}}}'
harden payouts
# fix: refunds
harden refunds
# fix: the nightly job
kubectl -n payments patch cronjob settlement-file --type strategic -p '{"spec":{"jobTemplate":{"spec":{"template":{"spec":{
  "securityContext":{"runAsNonRoot":true,"runAsUser":10001,"seccompProfile":{"type":"RuntimeDefault"}},
  "initContainers":[{"name":"fetch","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}}}}}'
# end
kubectl -n payments rollout status deployment/payouts --timeout=20s || true
kubectl -n payments rollout status deployment/refunds --timeout=20s || true
