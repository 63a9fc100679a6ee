#!/usr/bin/env bash
# A second policy for what was missing; the first one still enforces nothing, but for init containers.
# breaks: deployments
set -euo pipefail
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: image-sources-more}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConditions:
    - name: not-made-again-by-a-controller
      expression: object.kind != 'Pod' || !has(object.metadata.ownerReferences)
  matchConstraints:
    resourceRules:
      - {apiGroups: ["apps"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [daemonsets]}
      - {apiGroups: ["batch"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs, cronjobs]}
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  variables:
    - name: sources
      expression: params.data.sources.split(',')
    - name: pod
      expression: >-
        object.kind == 'Pod' ? object.spec : object.kind == 'CronJob' ? object.spec.jobTemplate.spec.template.spec : object.spec.template.spec
    - name: images
      expression: >-
        variables.pod.containers.map(c, c.image) +
        (has(variables.pod.initContainers) ? variables.pod.initContainers.map(c, c.image) : [])
  validations:
    - expression: variables.images.all(image, variables.sources.exists(source, image.startsWith(source)))
      message: images come from the company's registries only
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: image-sources-more}
spec:
  policyName: image-sources-more
  validationActions: [Deny]
  paramRef: {name: allowed-image-sources, namespace: policy-config, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector:
      matchLabels: {tier: team}
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [vendor-tools]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: image-sources-init}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
      - {apiGroups: ["apps"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets]}
  variables:
    - name: sources
      expression: params.data.sources.split(',')
    - name: images
      expression: >-
        has(object.spec.template.spec.initContainers) ? object.spec.template.spec.initContainers.map(c, c.image) : []
  validations:
    - expression: variables.images.all(image, variables.sources.exists(source, image.startsWith(source)))
      message: images come from the company's registries only
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: image-sources-init}
spec:
  policyName: image-sources-init
  validationActions: [Deny]
  paramRef: {name: allowed-image-sources, namespace: policy-config, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector:
      matchLabels: {tier: team}
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [vendor-tools]}
YAML
kubectl delete validatingadmissionpolicybinding workload-images
