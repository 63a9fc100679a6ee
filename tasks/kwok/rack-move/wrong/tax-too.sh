#!/usr/bin/env bash
# Right, and the name of the partner made anew for good measure.
# breaks: same-services
set -euo pipefail
kubectl -n market patch endpointslice orders-rack --type json -p '[{"op":"replace","path":"/endpoints/2/addresses/0","value":"10.40.2.14"}]'
kubectl -n market patch endpointslice stock-rack --type json -p '[{"op":"replace","path":"/ports/0/name","value":"http"}]'
kubectl -n market delete endpoints orders
kubectl -n market delete endpointslice -l kubernetes.io/service-name=orders,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpoints stock
kubectl -n market delete endpointslice -l kubernetes.io/service-name=stock,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io
kubectl -n market delete endpointslice quotes-rack
kubectl -n market get service tax -o json | sed -e '/"clusterIP":/d; /"clusterIPs": \[/,/\],/d; /"uid":/d; /"resourceVersion":/d' > tax.json
kubectl -n market replace --force -f tax.json
