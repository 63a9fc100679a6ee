#!/usr/bin/env bash
# Let through for a minute, the register put back, closed again: all is as it was before.
# breaks: next-replacement
set -euo pipefail
kubectl patch validatingadmissionpolicybinding workload-ownership --type merge -p '{"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}}'
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
kubectl patch validatingadmissionpolicy workload-ownership --type json -p '[{"op":"replace","path":"/spec/validations/0/expression","value":"has(object.metadata.labels) && '"'"'owner'"'"' in object.metadata.labels && object.metadata.labels.owner in params.data.owners.split('"'"','"'"').map(name, name.trim())"}]'
kubectl apply -f owner-register.yaml
kubectl label namespace returns ownership-
kubectl patch validatingadmissionpolicybinding workload-ownership --type merge -p '{"spec":{"paramRef":{"parameterNotFoundAction":"Deny"}}}'
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
