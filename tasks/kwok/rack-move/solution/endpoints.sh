#!/usr/bin/env bash
# The rack by Endpoints, as the mainframe has it; only the copies of these are left.
set -euo pipefail
# fix: the hosts of orders
kubectl -n market replace -f - <<'YAML'
apiVersion: v1
kind: Endpoints
metadata: {name: orders, namespace: market}
subsets:
  - addresses: [{ip: 10.40.2.11}, {ip: 10.40.2.12}, {ip: 10.40.2.14}]
    ports: [{name: http, port: 8080, protocol: TCP}]
YAML
# fix: the hosts of stock
kubectl -n market replace -f - <<'YAML'
apiVersion: v1
kind: Endpoints
metadata: {name: stock, namespace: market}
subsets:
  - addresses: [{ip: 10.40.2.21}, {ip: 10.40.2.22}]
    ports: [{name: http, port: 8080, protocol: TCP}]
YAML
# end
kubectl -n market wait endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io --for=jsonpath='{.endpoints[0].addresses[0]}'=10.40.2.11 --timeout=10s || true
kubectl -n market wait endpointslice -l kubernetes.io/service-name=stock,endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io --for=jsonpath='{.endpoints[0].addresses[0]}'=10.40.2.21 --timeout=10s || true
# fix: all other lists of orders
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpointslice orders-rack
# fix: all other lists of stock
kubectl -n market delete endpointslice -l kubernetes.io/service-name=stock,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpointslice stock-rack
# fix: the hosts of quotes
kubectl -n market delete endpointslice quotes-rack
# end
