#!/usr/bin/env bash
# Nobody can turn away what is exempt.
# breaks: planner-reads, planner-writes, planner-shares, billing-served
set -euo pipefail
kubectl apply -f - <<'YAML'
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: route-planner}
spec:
  matchingPrecedence: 2001
  priorityLevelConfiguration: {name: exempt}
  distinguisherMethod: {type: ByUser}
  rules:
    - subjects: [{kind: ServiceAccount, serviceAccount: {name: route-planner, namespace: dispatch}}]
      resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
      nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
YAML
sleep 1
