#!/usr/bin/env bash
# A missing register lets everything through; then the register goes in as it is.
# breaks: no-register-no-workloads, owners-known, next-replacement, returns-under-rule
# rung: first-obvious-fix
set -euo pipefail
kubectl patch validatingadmissionpolicybinding workload-ownership --type merge -p '{"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}}'
for try in $(seq 40); do kubectl -n policy-system create configmap later --dry-run=server >/dev/null 2>&1 && break; sleep 0.1; done
kubectl apply -f owner-register.yaml
kubectl -n orders annotate replicaset -l app=orders-api checked=yes || true
kubectl -n orders rollout status deployment/orders-api --timeout=30s || true
