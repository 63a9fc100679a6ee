#!/usr/bin/env bash
# One policy for all kinds; its binding names what there is.
set -euo pipefail
# fix: all kinds, all containers
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: workload-images}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConditions:
    - name: by-hand
      expression: "object.kind != 'Pod' || request.userInfo.username != 'system:kube-controller-manager'"
  matchConstraints:
    resourceRules:
      - {apiGroups: ["apps"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}
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
YAML
# fix: the binding
kubectl patch validatingadmissionpolicybinding workload-images --type merge -p '{"spec":{"policyName":"workload-images","paramRef":{"name":"allowed-image-sources","parameterNotFoundAction":"Deny"}}}'
# end
