#!/usr/bin/env bash
# Only the namespace of the register is taken out; the next replacement stops all the others.
# breaks: next-replacement, violators-refused
set -euo pipefail
kubectl patch validatingadmissionpolicybinding workload-ownership --type json -p '[{"op":"add","path":"/spec/matchResources/namespaceSelector/matchExpressions/0/values/-","value":"policy-system"}]'
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
kubectl patch validatingadmissionpolicy workload-ownership --type json -p '[{"op":"replace","path":"/spec/validations/0/expression","value":"has(object.metadata.labels) && '"'"'owner'"'"' in object.metadata.labels && object.metadata.labels.owner in params.data.owners.split('"'"','"'"').map(name, name.trim())"}]'
kubectl apply -f owner-register.yaml
kubectl label namespace returns ownership-
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
