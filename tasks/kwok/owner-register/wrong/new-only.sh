#!/usr/bin/env bash
# Only what is new is asked about, so that running services can be changed.
# breaks: violators-refused
set -euo pipefail
kubectl patch validatingadmissionpolicy workload-ownership --type merge -p '{"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["deployments","statefulsets","daemonsets"]},{"apiGroups":["batch"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["jobs","cronjobs"]}]}}}'
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
kubectl patch validatingadmissionpolicy workload-ownership --type json -p '[{"op":"replace","path":"/spec/validations/0/expression","value":"has(object.metadata.labels) && '"'"'owner'"'"' in object.metadata.labels && object.metadata.labels.owner in params.data.owners.split('"'"','"'"').map(name, name.trim())"}]'
kubectl apply -f owner-register.yaml
kubectl label namespace returns ownership-
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
