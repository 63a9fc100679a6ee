#!/usr/bin/env bash
# The same by apply, with a port number.
set -euo pipefail
# fix: selector and port
kubectl apply -f - <<'YAML'
apiVersion: v1
kind: Service
metadata:
  name: pricing
  namespace: shop
spec:
  selector: {app.kubernetes.io/name: pricing, app.kubernetes.io/component: api}
  ports:
    - {name: http, port: 80, targetPort: 8080}
YAML
# end
