#!/usr/bin/env bash
# Pods that get no work are switched off.
# breaks: way-back
set -euo pipefail
kubectl -n market patch endpointslice orders-rack --type json -p '[{"op":"replace","path":"/endpoints/2/addresses/0","value":"10.40.2.14"}]'
kubectl -n market patch endpointslice stock-rack --type json -p '[{"op":"replace","path":"/ports/0/name","value":"http"}]'
kubectl -n market delete endpoints orders
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpoints stock
kubectl -n market delete endpointslice -l kubernetes.io/service-name=stock,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpointslice quotes-rack
kubectl -n market scale deployment stock --replicas=0
for _ in $(seq 60); do [ -n "$(kubectl -n market get deployment stock -o jsonpath='{.status.readyReplicas}')" ] || break; sleep 0.2; done
sleep 1
