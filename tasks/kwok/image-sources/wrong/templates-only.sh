#!/usr/bin/env bash
# Init containers too, but only where there is a template.
# breaks: other-kinds
set -euo pipefail
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: workload-images}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
      - {apiGroups: ["apps"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}
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
YAML
kubectl patch validatingadmissionpolicybinding workload-images --type merge -p '{"spec":{"policyName":"workload-images","paramRef":{"name":"allowed-image-sources","parameterNotFoundAction":"Deny"}}}'
