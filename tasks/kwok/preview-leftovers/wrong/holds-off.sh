#!/usr/bin/env bash
# What holds the namespaces is taken off; what is paid for stays on the list.
# breaks: given-back
# rung: honest-partial
set -euo pipefail
kubectl delete apiservice v1beta2.custom.metrics.k8s.io
kubectl -n preview-412 patch database shop --type merge -p '{"metadata":{"finalizers":null}}'
kubectl -n preview-405 patch database search --type merge -p '{"metadata":{"finalizers":null}}'
kubectl wait namespace preview-398 preview-405 preview-412 --for=delete --timeout=100s || true
