#!/usr/bin/env bash
# The set makes the claim of copy 2 itself, while it still asks for the class of that disk.
set -euo pipefail
# fix: copy 2 finds its disk
kubectl patch pv vol-77c21b --type merge -p '{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}'
kubectl -n orders delete pvc data-orders-db-2 --wait=true
kubectl -n orders delete pod orders-db-2 --wait=true
kubectl uncordon db-c-0
kubectl -n orders wait pvc/data-orders-db-2 --for=create --timeout=120s
# fix: copy 3 and those to come
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
kubectl -n orders delete pvc data-orders-db-3
kubectl apply -f - <<'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-orders-db-3, namespace: orders, labels: {app: orders-db}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast-late
  resources: {requests: {storage: 100Gi}}
YAML
kubectl apply -f set.yaml
# end
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
