#!/usr/bin/env bash
# The list and the API in order, the rest by the recipe.
# breaks: nothing-left
set -euo pipefail
kubectl -n db-system patch configmap allocations --type json -p '[{"op":"remove","path":"/data/db-7f31"},{"op":"remove","path":"/data/db-7f36"}]'
for name in preview-398 preview-405 preview-412; do
  kubectl get namespace $name -o yaml | sed -e '/^spec:/,/^status:/{/^status:/!d}' -e '/^  resourceVersion:/d' > $name.yaml
  kubectl create --dry-run=client -f $name.yaml -o json > $name.json
  kubectl replace --raw /api/v1/namespaces/$name/finalize -f $name.json >/dev/null
done
kubectl delete apiservice v1beta2.custom.metrics.k8s.io
