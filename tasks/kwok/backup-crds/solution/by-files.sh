#!/usr/bin/env bash
# All plans of the first days as files in the new version, replaced in one go; a new rule for all versions, the CRDs in two steps.
set -euo pipefail
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: minimum-retention-v1}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - {apiGroups: [backup.northwind.example], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [backupplans]}
  validations:
    - expression: "!has(object.spec.retention) || int(object.spec.retention.substring(0, object.spec.retention.size() - 1)) > 13"
      message: backups are kept for two weeks at least
YAML
# fix: the rule is bound
kubectl apply -f - <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: minimum-retention-v1}
spec: {policyName: minimum-retention-v1, validationActions: [Deny]}
YAML
# end
kubectl delete validatingadmissionpolicybinding minimum-retention
kubectl delete validatingadmissionpolicy minimum-retention
# fix: old plans as files
mkdir -p plans
kubectl get backupplans.v1.backup.northwind.example -A --no-headers -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,KEEP:.spec.retention | grep '<none>' |
  while read -r ns name _; do
    kubectl -n "$ns" get backupplans.v1alpha1.backup.northwind.example "$name" -o yaml < /dev/null |
      sed '/last-applied-configuration/,+1d; s#^apiVersion: .*#apiVersion: backup.northwind.example/v1#; s/^  keepDays: \(.*\)$/  retention: \1d/' > "plans/$ns-$name.yaml"
  done
kubectl replace --validate=false -f plans
# end
sed '/^  versions:/a\    - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}' operator-3.0/crds.yaml > between.yaml
kubectl apply --validate=false -f between.yaml
sleep 1
# fix: every target is touched
kubectl -n backup-system annotate backuptargets.v1.backup.northwind.example --all northwind.example/stored=v1
# end
kubectl patch crd backupplans.backup.northwind.example backuptargets.backup.northwind.example --subresource=status --type merge -p '{"status":{"storedVersions":["v1"]}}'
kubectl apply --validate=false -f operator-3.0
kubectl -n backup-system get configmap registrar-template -o yaml | sed 's/v1alpha1/v1/; s/keepDays: 35/retention: 35d/' > template.yaml
kubectl apply --validate=false -f template.yaml
kubectl -n backup-system patch deployment backup-exporter --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/args/0","value":"--resource=backupplans.v1.backup.northwind.example"}]'
kubectl -n backup-system rollout status deployment/backup-operator --timeout=30s || true
kubectl -n backup-system rollout status deployment/backup-exporter --timeout=30s || true
sleep 2
