#!/usr/bin/env bash
# The set leaves without its pods, the claims are put right in peace, the set comes back.
set -euo pipefail
# fix: the machine is back
kubectl uncordon db-c-0
# fix: a class that waits
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
# fix: the set leaves, its pods stay
kubectl -n orders get statefulset orders-db -o yaml | sed -e '/^status:/,$d; /^  uid:/d; /^  resourceVersion:/d; /^  creationTimestamp:/d; /^  generation:/d; s/storageClassName: fast$/storageClassName: fast-late/' > set.yaml
kubectl -n orders delete statefulset orders-db --cascade=orphan
# fix: the disk of copy 2
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
# fix: the claim of copy 3, which was never used
kubectl -n orders delete pvc data-orders-db-3
# fix: the set with the other class
kubectl apply -f set.yaml
# end
kubectl -n orders wait pod/orders-db-2 pod/orders-db-3 --for=condition=Ready --timeout=40s || true
