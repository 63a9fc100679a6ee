#!/usr/bin/env bash
# Right, and support may restart StatefulSets as well: they would ask for it anyway.
# breaks: others-no-more
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
kubectl -n pricing create role support-statefulsets --verb=get,list,watch,patch --resource=statefulsets.apps
kubectl -n pricing create rolebinding support-statefulsets --role=support-statefulsets --group=support-leads
