#!/usr/bin/env bash
# The rack by slices; what the pods left behind is deleted where it comes from.
set -euo pipefail
# fix: the host that was replaced
kubectl -n market patch endpointslice orders-rack --type json -p '[{"op":"replace","path":"/endpoints/2/addresses/0","value":"10.40.2.14"}]'
# fix: a port that the Service knows
kubectl -n market patch endpointslice stock-rack --type json -p '[{"op":"replace","path":"/ports/0/name","value":"http"}]'
# fix: the origin of orders' copy
kubectl -n market delete endpoints orders
# fix: what the pods of orders left
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
# fix: the origin of stock's copy
kubectl -n market delete endpoints stock
# fix: what the pods of stock left
kubectl -n market delete endpointslice -l kubernetes.io/service-name=stock,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
# fix: the hosts of quotes
kubectl -n market delete endpointslice quotes-rack
# end
