#!/usr/bin/env bash
# The binding selects less, the rule itself stays broad; blanks are skipped, and the register is tidied all the same.
set -euo pipefail
# fix: the binding hands on five kinds only
kubectl patch validatingadmissionpolicybinding workload-ownership --type merge -p '{"spec":{"matchResources":{"resourceRules":[{"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["deployments","statefulsets","daemonsets"]},{"apiGroups":["batch"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["jobs","cronjobs"]}]}}}'
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
# fix: blanks are skipped
kubectl patch validatingadmissionpolicy workload-ownership --type json -p '[{"op":"replace","path":"/spec/validations/0/expression","value":"has(object.metadata.labels) && '"'"'owner'"'"' in object.metadata.labels && params.data.owners.split('"'"','"'"').exists(name, name.trim() == object.metadata.labels.owner)"}]'
# fix: the register, tidied
sed 's/, /,/g' owner-register.yaml > register.yaml
kubectl apply -f register.yaml
# fix: no exception
kubectl label namespace returns ownership-
# end
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
