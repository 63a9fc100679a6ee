#!/usr/bin/env bash
# The three claims are older than their pods. For a disk that is not there yet the scheduler looks once a second only, and a disk is
# made for a claim when it names a node; so both are written as the controllers write them.
set -euo pipefail
for n in 0 1 2; do
  cat <<END
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data-ledger-db-$n
  namespace: ledger
  labels: {app: ledger-db}
spec:
  accessModes: [ReadWriteOnce]
  volumeMode: Filesystem
  resources: {requests: {storage: 20Gi}}
END
done | kubectl create --field-manager=kube-controller-manager -f - >/dev/null
for n in 0 1 2; do
  kubectl -n ledger annotate --field-manager=kube-scheduler pvc "data-ledger-db-$n" "volume.kubernetes.io/selected-node=worker-$n" >/dev/null &
done
for job in $(jobs -p); do wait "$job"; done
