#!/usr/bin/env bash
# New schemas in front of the old ones, and the one of logistics gone.
set -euo pipefail
# fix: the planner
kubectl apply -f - <<'YAML'
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: route-planner}
spec:
  matchingPrecedence: 2050
  priorityLevelConfiguration: {name: dispatch}
  distinguisherMethod: {type: ByUser}
  rules:
    - subjects: [{kind: ServiceAccount, serviceAccount: {name: route-planner, namespace: dispatch}}]
      resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
      nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
YAML
# end
kubectl delete flowschema team-dispatch
# fix: a level with room
kubectl apply --server-side --force-conflicts -f - <<'YAML'
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: dispatch}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 30
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse:
      type: Queue
      queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}
YAML
# fix: the lists of billing
kubectl apply -f - <<'YAML'
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: invoice-runner-lists}
spec:
  matchingPrecedence: 2400
  priorityLevelConfiguration: {name: billing}
  distinguisherMethod: {type: ByUser}
  rules:
    - subjects: [{kind: ServiceAccount, serviceAccount: {name: invoice-runner, namespace: billing}}]
      resourceRules: [{verbs: [list, watch], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
YAML
# end
sleep 1
