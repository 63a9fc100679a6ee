#!/usr/bin/env bash
# Decided by a script that compares with the nodes; a role of its own for the approver.
set -euo pipefail
decide() {
  local text requester node names known
  text=$(kubectl describe csr "$1")
  requester=$(sed -n 's/^Requesting User: *//p' <<<"$text")
  node=${requester#system:node:}
  [ "system:node:$node" = "$requester" ] || { kubectl certificate deny "$1"; return; }
  grep -q "Common Name: *$requester\$" <<<"$text" || { kubectl certificate deny "$1"; return; }
  known=$(kubectl get node "$node" -o jsonpath='{range .status.addresses[*]}{.address}{"\n"}{end}') || { kubectl certificate deny "$1"; return; }
  names=$(sed -n '/DNS Names:/,/^Events:/{/^Events:/!p}' <<<"$text" | sed 's/.*: *//; s/ //g; /^$/d')
  if [ -n "$(comm -23 <(sort <<<"$names") <(sort <<<"$known"))" ]; then kubectl certificate deny "$1"; else kubectl certificate approve "$1"; fi
}
# fix: every request of a node that is open
for name in $(kubectl get csr -o jsonpath='{range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.metadata.name}{" "}{.status.conditions[0].type}{"\n"}{end}' | awk 'NF==1'); do decide "$name"; done
# fix: what the approver needs
kubectl apply -f - <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kubelet-serving-approver}
rules:
  - {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [get, list, watch]}
  - {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval], verbs: [update]}
  - {apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: [kubernetes.io/kubelet-serving], verbs: [approve]}
  - {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kubelet-serving-approver}
subjects: [{kind: ServiceAccount, name: csr-approver, namespace: node-system}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubelet-serving-approver}
YAML
# end
sleep 1
