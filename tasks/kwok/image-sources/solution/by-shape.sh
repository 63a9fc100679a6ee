#!/usr/bin/env bash
# A policy for each shape, new names, the old pair removed last.
set -euo pipefail
# fix: workloads with a template
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: image-sources-templates}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
      - {apiGroups: ["apps"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}
      - {apiGroups: ["batch"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs]}
  variables:
    - name: sources
      expression: params.data.sources.split(',')
    - name: pod
      expression: >-
        object.spec.template.spec
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
metadata: {name: image-sources-templates}
spec:
  policyName: image-sources-templates
  validationActions: [Deny]
  paramRef: {name: allowed-image-sources, namespace: policy-config, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector:
      matchLabels: {tier: team}
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [vendor-tools]}
YAML
# fix: pods and cron jobs
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: image-sources-pods}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConditions:
    - name: not-made-again-by-a-controller
      expression: object.kind != 'Pod' || !has(object.metadata.ownerReferences)
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  variables:
    - name: sources
      expression: params.data.sources.split(',')
    - name: pod
      expression: >-
        object.spec
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
metadata: {name: image-sources-pods}
spec:
  policyName: image-sources-pods
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
metadata: {name: image-sources-cron}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
      - {apiGroups: ["batch"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [cronjobs]}
  variables:
    - name: sources
      expression: params.data.sources.split(',')
    - name: pod
      expression: >-
        object.spec.jobTemplate.spec.template.spec
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
metadata: {name: image-sources-cron}
spec:
  policyName: image-sources-cron
  validationActions: [Deny]
  paramRef: {name: allowed-image-sources, namespace: policy-config, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector:
      matchLabels: {tier: team}
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [vendor-tools]}
YAML
# fix: the pair that enforces nothing goes
kubectl delete validatingadmissionpolicybinding workload-images
kubectl delete validatingadmissionpolicy workload-images
# end
