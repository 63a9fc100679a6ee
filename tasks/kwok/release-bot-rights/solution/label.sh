#!/usr/bin/env bash
# The label back on the part that lost it; what is the bot's alone in a role of its own.
set -euo pipefail
# fix: the part is a part again
kubectl label clusterrole release-manager-deploy rbac.northwind.example/part-of=release-manager
# fix: StatefulSets for the bot, in orders
kubectl apply -f - <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: release-bot-statefulsets, namespace: orders}
rules:
  - {apiGroups: [apps], resources: [statefulsets], verbs: [get, list, watch, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: release-bot-statefulsets, namespace: orders}
subjects: [{kind: ServiceAccount, name: release-bot, namespace: ci}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: release-bot-statefulsets}
YAML
# end
