#!/usr/bin/env bash
# A claim made by hand for copy 3, and none for those to come.
# breaks: next-copies
set -euo pipefail
kubectl uncordon db-c-0
kubectl patch pv vol-77c21b --type merge -p '{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}'
kubectl -n orders delete pvc data-orders-db-2 --wait=true
kubectl -n orders delete pod orders-db-2 --wait=true
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
kubectl -n orders scale statefulset orders-db --replicas=3
kubectl -n orders wait pod/orders-db-3 --for=delete --timeout=60s
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
kubectl -n orders scale statefulset orders-db --replicas=4
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
