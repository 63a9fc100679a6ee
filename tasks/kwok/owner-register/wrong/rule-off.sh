#!/usr/bin/env bash
# Off with it.
# breaks: violators-refused, no-register-no-workloads, returns-under-rule
set -euo pipefail
kubectl delete validatingadmissionpolicybinding workload-ownership
kubectl delete validatingadmissionpolicy workload-ownership
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
kubectl apply -f owner-register.yaml
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
