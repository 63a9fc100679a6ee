#!/usr/bin/env bash
# orders and nothing else.
# breaks: stock-pods-gone, stock-hosts, quotes-hosts-gone
# rung: honest-partial
set -euo pipefail
kubectl -n market patch endpointslice orders-rack --type json -p '[{"op":"replace","path":"/endpoints/2/addresses/0","value":"10.40.2.14"}]'
kubectl -n market delete endpoints orders
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
