#!/usr/bin/env bash
# Let the aggregation follow the label that every role carries now: the withdrawn part is back.
# breaks: bot-no-more, others-no-more
set -euo pipefail
kubectl patch clusterrole release-manager --type json -p '[{"op":"add","path":"/aggregationRule/clusterRoleSelectors/-","value":{"matchLabels":{"rbac.northwind.example/component":"release-manager"}}}]'
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
