#!/usr/bin/env bash
# Right, and the namespace made again for the pipeline, which makes its own.
# breaks: closed-are-gone
set -euo pipefail
kubectl delete apiservice v1beta2.custom.metrics.k8s.io
kubectl -n db-system patch configmap allocations --type json -p '[{"op":"remove","path":"/data/db-7f31"},{"op":"remove","path":"/data/db-7f36"}]'
kubectl -n preview-412 patch database shop --type merge -p '{"metadata":{"finalizers":null}}'
kubectl -n preview-405 patch database search --type merge -p '{"metadata":{"finalizers":null}}'
kubectl wait namespace preview-398 preview-405 preview-412 --for=delete --timeout=100s || true
kubectl create namespace preview-412
