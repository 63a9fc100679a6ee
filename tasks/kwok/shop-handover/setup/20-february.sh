#!/usr/bin/env bash
# The time of Helm and Concourse. The files of today are what was taken over then, but for what has changed since.
set -euo pipefail
cd shop-deploy/manifests

of_helm() { # FILE: with the labels and annotations of a chart
  sed -e "s/^  labels: {\(.*\)}/  labels: {\1, app.kubernetes.io\/managed-by: Helm}\n  annotations: {meta.helm.sh\/release-name: shop, meta.helm.sh\/release-namespace: shop}/" "$1"
  echo ---
}
{
  of_helm storefront.yaml | sed 's/storefront:7.3.0/storefront:7.2.0/'
  of_helm cart.yaml | sed 's/cart:5.1.0/cart:5.0.2/; s/"3600"/"1800"/'
  of_helm search.yaml
  of_helm sessions.yaml
  of_helm catalog.yaml | sed '$d'
  cat <<'YAML'
        - name: statsd
          image: registry.example.com/shared/statsd:0.22.1
          args: [--forward, metrics-old.example.com]
          resources: {requests: {cpu: 20m, memory: 32Mi}}
---
YAML
  cat services.yaml
  cat <<'YAML'
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: payments
  namespace: billing
  labels: {app: payments, app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: billing, meta.helm.sh/release-namespace: billing}
spec:
  replicas: 3
  selector:
    matchLabels: {app: payments}
  template:
    metadata:
      labels: {app: payments}
    spec:
      containers:
        - name: payments
          image: registry.example.com/billing/payments:6.1.4
          ports: [{name: http, containerPort: 8080}]
          resources: {requests: {cpu: 200m, memory: 256Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: payments, namespace: billing, labels: {app: payments}}
spec:
  selector: {app: payments}
  ports: [{name: http, port: 80, targetPort: http}]
YAML
} | kubectl create --field-manager=helm -f - >/dev/null &
sed 's/^          ports:/            - {name: PAYMENT_TRACE, value: "full"}\n&/' checkout.yaml |
  kubectl apply --server-side --field-manager=concourse -f - >/dev/null &
for job in $(jobs -p); do wait "$job"; done
