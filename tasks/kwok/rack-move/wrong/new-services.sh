#!/usr/bin/env bash
# New Services take their lists with them.
# breaks: ..., same-services
set -euo pipefail
kubectl -n market patch endpointslice orders-rack --type json -p '[{"op":"replace","path":"/endpoints/2/addresses/0","value":"10.40.2.14"}]'
kubectl -n market patch endpointslice stock-rack --type json -p '[{"op":"replace","path":"/ports/0/name","value":"http"}]'
for name in orders stock; do kubectl -n market get service $name -o json | sed -e '/"clusterIP":/d; /"clusterIPs": \[/,/\],/d; /"uid":/d; /"resourceVersion":/d' > $name.json; kubectl -n market replace --force -f $name.json; done
kubectl -n market delete endpointslice quotes-rack
