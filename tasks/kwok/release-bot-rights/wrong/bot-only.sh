#!/usr/bin/env bash
# A role for the bot: the complaint is gone, and support still cannot restart anything.
# breaks: everybody-else
# rung: honest-partial
set -euo pipefail
for ns in orders pricing; do
  kubectl -n $ns create role release-bot-deployments --verb=get,list,watch,patch --resource=deployments.apps
  kubectl -n $ns create rolebinding release-bot-deployments --role=release-bot-deployments --serviceaccount=ci:release-bot
done
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
