#!/usr/bin/env bash
# Delete the slice of dead pods that looks like a duplicate.
# breaks: orders-pods-gone, orders-hosts, stock-pods-gone, stock-hosts, quotes-hosts-gone
# rung: first-obvious-fix
set -euo pipefail
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
