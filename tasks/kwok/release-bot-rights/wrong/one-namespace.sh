#!/usr/bin/env bash
# Right, but the binding in pricing is replaced by one that names the account of another namespace.
# breaks: bot-deployments
set -euo pipefail
kubectl label clusterrole release-manager-deploy rbac.northwind.example/part-of=release-manager
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
kubectl -n pricing delete rolebinding release-bot
kubectl -n pricing create rolebinding release-bot --clusterrole=release-manager --serviceaccount=pricing:release-bot
