#!/usr/bin/env bash
# Clean up first, then find out why nothing answers.
# breaks: never-without
set -euo pipefail
kubectl -n market patch endpointslice orders-rack --type json -p '[{"op":"replace","path":"/endpoints/2/addresses/0","value":"10.40.2.14"}]'
kubectl -n market delete endpoints orders
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpoints stock
kubectl -n market delete endpointslice -l kubernetes.io/service-name=stock,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpointslice quotes-rack
sleep 2
kubectl -n market patch endpointslice stock-rack --type json -p '[{"op":"replace","path":"/ports/0/name","value":"http"}]'
