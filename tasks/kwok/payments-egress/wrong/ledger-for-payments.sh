#!/usr/bin/env bash
# Let all of payments into ledger: receipts gets in, too.
# breaks: way-in-closed
set -euo pipefail
kubectl -n payments patch networkpolicy dns --type json -p '[{"op":"replace","path":"/spec/egress","value":[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}},"podSelector":{"matchLabels":{"k8s-app":"kube-dns"}}}],"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":53}]}]}]'
kubectl -n payments patch networkpolicy gateway --type json -p '[{"op":"replace","path":"/spec/egress/0/to/0/ipBlock/except","value":["203.0.113.192/26"]}]'
kubectl -n payments patch networkpolicy ledger --type json -p '[{"op":"replace","path":"/spec/egress/0/to/0","value":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"data"}},"podSelector":{"matchLabels":{"app":"postgres"}}}}]'
kubectl -n payments patch networkpolicy ledger --type json -p '[{"op":"replace","path":"/spec/ingress/0/from","value":[{"podSelector":{}}]}]'
kubectl -n payments patch networkpolicy refunds --type json -p '[{"op":"add","path":"/spec/egress/-","value":{"to":[{"podSelector":{"matchLabels":{"app":"ledger"}}}]}}]'
kubectl apply -f - <<'YAML'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: receipts, namespace: payments}
spec:
  podSelector: {matchLabels: {app: receipts}}
  policyTypes: [Egress]
  egress: [{to: [{podSelector: {matchLabels: {app: ledger}}}]}]
YAML
