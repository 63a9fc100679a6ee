#!/usr/bin/env bash
# All by hand, and a service for the API, so that it has somebody.
# breaks: next-one
set -euo pipefail
kubectl -n db-system patch configmap allocations --type json -p '[{"op":"remove","path":"/data/db-7f31"},{"op":"remove","path":"/data/db-7f36"}]'
kubectl -n preview-412 patch database shop --type merge -p '{"metadata":{"finalizers":null}}'
kubectl -n preview-405 patch database search --type merge -p '{"metadata":{"finalizers":null}}'
kubectl -n monitoring create service clusterip metrics-adapter --tcp=443:8443
for name in preview-398 preview-405 preview-412; do
  kubectl get namespace $name -o yaml | sed -e '/^spec:/,/^status:/{/^status:/!d}' -e '/^  resourceVersion:/d' > $name.yaml
  kubectl create --dry-run=client -f $name.yaml -o json > $name.json
  kubectl replace --raw /api/v1/namespaces/$name/finalize -f $name.json >/dev/null
done
