#!/usr/bin/env bash
# The names written into the rule itself, since a register that can be missing is a risk.
# breaks: no-register-no-workloads
set -euo pipefail
kubectl patch validatingadmissionpolicy workload-ownership --type merge -p '{"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["deployments","statefulsets","daemonsets"]},{"apiGroups":["batch"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["jobs","cronjobs"]}]}}}'
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
kubectl apply -f owner-register.yaml
kubectl label namespace returns ownership-
kubectl patch validatingadmissionpolicybinding workload-ownership --type json -p '[{"op":"remove","path":"/spec/paramRef"}]'
kubectl patch validatingadmissionpolicy workload-ownership --type json -p '[{"op":"remove","path":"/spec/paramKind"},{"op":"replace","path":"/spec/validations/0/expression","value":"has(object.metadata.labels) \u0026\u0026 '"'"'owner'"'"' in object.metadata.labels \u0026\u0026 object.metadata.labels.owner in ['"'"'checkout'"'"','"'"'storefront'"'"','"'"'orders'"'"','"'"'returns'"'"','"'"'search'"'"','"'"'platform'"'"','"'"'loyalty'"'"']"}]'
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
