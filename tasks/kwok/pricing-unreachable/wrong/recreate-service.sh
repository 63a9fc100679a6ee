#!/usr/bin/env bash
# Delete the Service and create it again: it gets another cluster address.
# breaks: service-port
set -euo pipefail
kubectl -n shop delete service pricing
kubectl apply -f - <<YAML
apiVersion: v1
kind: Service
metadata: {name: pricing, namespace: shop}
spec:
  selector: {app.kubernetes.io/name: pricing, app.kubernetes.io/component: api}
  ports: [{name: http, port: 80, targetPort: http}]
YAML
