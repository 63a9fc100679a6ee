#!/usr/bin/env bash
# Right, and a policy that lets everybody in.
# breaks: policies-closed
set -euo pipefail
kubectl -n shop patch service pricing --type merge -p '{"spec":{"selector":{"app.kubernetes.io/component":"api"}}}'
kubectl -n shop patch service pricing --type json -p '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"http"}]'
kubectl apply -f - <<YAML
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-pricing, namespace: shop}
spec:
  podSelector: {}
  ingress: [{}]
YAML
