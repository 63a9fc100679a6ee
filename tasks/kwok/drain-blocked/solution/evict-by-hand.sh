#!/usr/bin/env bash
# The same without drain: cordon last-minute, evict pod by pod.
set -euo pipefail
kubectl -n shop scale deployment sessions coupons --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
kubectl -n shop rollout status deployment/coupons --timeout=60s
# fix: no new pods
kubectl patch node worker-1 --type merge -p '{"spec":{"unschedulable":true}}'
# fix: evict
for pod in $(kubectl -n shop get pods --field-selector spec.nodeName=worker-1 -o jsonpath='{.items[*].metadata.name}'); do
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if echo '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"'"$pod"'","namespace":"shop"}}' |
      kubectl create --raw "/api/v1/namespaces/shop/pods/$pod/eviction" -f - ; then break; fi
    sleep 0.5
  done
done
# fix: replicas as before
kubectl -n shop scale deployment sessions --replicas=3
kubectl -n shop scale deployment coupons --replicas=1
# end
