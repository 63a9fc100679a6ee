#!/usr/bin/env bash
# A rule for pods alone: the Deployment is accepted, and its pods never appear.
# breaks: deployments, other-kinds, init-containers, running-comes-back
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
YAML
kubectl patch validatingadmissionpolicybinding workload-images --type merge -p '{"spec":{"policyName":"workload-images","paramRef":{"name":"allowed-image-sources","parameterNotFoundAction":"Deny"}}}'
