#!/usr/bin/env bash
# A new set, one policy for each row of the table; the default deny stays.
set -euo pipefail
# fix: the old exceptions go
kubectl -n payments delete networkpolicy dns gateway ledger refunds
# fix: the table
kubectl apply -f - <<'YAML'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: all-dns, namespace: payments}
spec:
  podSelector: {}
  policyTypes: [Egress]
  egress:
    - to:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}
          podSelector: {matchLabels: {k8s-app: kube-dns}}
      ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: gateway-out, namespace: payments}
spec:
  podSelector: {matchLabels: {app: gateway}}
  policyTypes: [Egress]
  egress:
    - to: [{ipBlock: {cidr: 203.0.113.0/25}}, {ipBlock: {cidr: 203.0.113.128/26}}]
      ports: [{port: 443}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: checkout-to-gateway, namespace: payments}
spec:
  podSelector: {matchLabels: {app: gateway}}
  policyTypes: [Ingress]
  ingress:
    - from:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
          podSelector: {matchLabels: {app: checkout}}
      ports: [{port: 8080}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: to-ledger, namespace: payments}
spec:
  podSelector: {matchExpressions: [{key: app, operator: In, values: [gateway, refunds]}]}
  policyTypes: [Egress]
  egress:
    - to: [{podSelector: {matchLabels: {app: ledger}}}]
      ports: [{port: 8080}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: ledger, namespace: payments}
spec:
  podSelector: {matchLabels: {app: ledger}}
  policyTypes: [Ingress, Egress]
  ingress:
    - from: [{podSelector: {matchExpressions: [{key: app, operator: In, values: [gateway, refunds]}]}}]
      ports: [{port: 8080}]
  egress:
    - to:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: data}}
          podSelector: {matchLabels: {app: postgres}}
      ports: [{port: 5432}]
YAML
# end
