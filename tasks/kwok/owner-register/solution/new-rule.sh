#!/usr/bin/env bash
# A new rule that reads names with blanks and lists the exempt namespaces by name; then the register as it was handed over.
set -euo pipefail
cat > policy.yaml <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: workload-ownership-v2, labels: {app.kubernetes.io/part-of: ownership}}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}
      - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs, cronjobs]}
  matchConditions:
    - name: made-by-people
      expression: "!(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(r, has(r.controller) && r.controller))"
  variables:
    - {name: owners, expression: "params.data.owners.split(',').map(owner, owner.trim())"}
    - {name: owner, expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels ? object.metadata.labels.owner : ''"}
  validations:
    - expression: variables.owner != '' && variables.owner in variables.owners
      message: workloads carry the label owner with a name from the owner register
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: workload-ownership-v2, labels: {app.kubernetes.io/part-of: ownership}}
spec:
  policyName: workload-ownership-v2
  validationActions: [Deny]
  paramRef: {name: owner-register, namespace: policy-system, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kube-public, kube-node-lease, vendor-tools, monitoring]}
YAML
kubectl apply -f policy.yaml
sleep 2
# fix: the old pair goes
kubectl delete validatingadmissionpolicybinding workload-ownership
kubectl delete validatingadmissionpolicy workload-ownership
# end
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
# fix: the register
kubectl apply -f owner-register.yaml
# end
kubectl label namespace returns ownership-
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
