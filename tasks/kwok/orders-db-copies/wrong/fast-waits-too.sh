#!/usr/bin/env bash
# Right, and so that nobody steps into it again, fast waits as well.
# breaks: others-kept
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
kubectl patch pv vol-77c21b --type merge -p '{"spec":{"claimRef":{"uid":null,"resourceVersion":null}}}'
kubectl apply -f - <<'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-orders-db-2, namespace: orders, labels: {app: orders-db}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  volumeName: vol-77c21b
  resources: {requests: {storage: 100Gi}}
YAML
kubectl -n orders delete pvc data-orders-db-3
kubectl apply -f set.yaml
kubectl delete storageclass fast
kubectl apply -f - <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.csi.k8s.io
parameters: {type: io2, encrypted: "true"}
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
YAML
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
