#!/usr/bin/env bash
# Both start empty.
# breaks: copy-two
set -euo pipefail
kubectl uncordon db-c-0
kubectl apply -f - <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast-late}
provisioner: disk.csi.k8s.io
parameters: {type: io2, encrypted: "true"}
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
YAML
kubectl -n orders get statefulset orders-db -o yaml | sed -e '/^status:/,$d; /^  uid:/d; /^  resourceVersion:/d; /^  creationTimestamp:/d; /^  generation:/d; s/storageClassName: fast$/storageClassName: fast-late/' > set.yaml
kubectl -n orders delete statefulset orders-db --cascade=orphan
kubectl -n orders delete pvc data-orders-db-2
kubectl -n orders delete pvc data-orders-db-3
kubectl apply -f set.yaml
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
