#!/usr/bin/env bash
# Right, and the database of shop taken for one of the previews: it is held, and marked for deletion for good.
# breaks: in-use
set -euo pipefail
kubectl delete apiservice v1beta2.custom.metrics.k8s.io
kubectl -n shop delete database catalog --wait=false
kubectl -n db-system patch configmap allocations --type json -p '[{"op":"remove","path":"/data/db-7f31"},{"op":"remove","path":"/data/db-7f36"}]'
kubectl -n preview-412 patch database shop --type merge -p '{"metadata":{"finalizers":null}}'
kubectl -n preview-405 patch database search --type merge -p '{"metadata":{"finalizers":null}}'
kubectl wait namespace preview-398 preview-405 preview-412 --for=delete --timeout=100s || true
