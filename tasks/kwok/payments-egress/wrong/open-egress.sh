#!/usr/bin/env bash
# Stop the time-outs: let everything out for now.
# breaks: way-out-closed, system-namespace, refunds
# rung: first-obvious-fix
set -euo pipefail
kubectl apply -f - <<'YAML'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: temporary-egress, namespace: payments}
spec:
  podSelector: {}
  policyTypes: [Egress]
  egress: [{}]
YAML
