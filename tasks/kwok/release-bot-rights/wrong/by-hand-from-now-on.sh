#!/usr/bin/env bash
# Right, and the aggregation removed, so that nothing can vanish again.
# breaks: still-in-parts
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
until kubectl get clusterrole release-manager -o jsonpath='{.rules}' | grep -q deployments; do sleep 0.2; done
kubectl patch clusterrole release-manager --type json -p '[{"op":"remove","path":"/aggregationRule"}]'
