#!/usr/bin/env bash
# One by one, then role and binding of the approver where they are.
set -euo pipefail
# fix: those that are right
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-h8m4t csr-tz5gw csr-x6f9j
# fix: those that are not
kubectl certificate deny csr-m7c2x csr-r2n5d csr-p3w8k
# fix: the account that the binding names
kubectl patch clusterrolebinding csr-approver --type json -p '[{"op":"replace","path":"/subjects/0/namespace","value":"node-system"}]'
# fix: the signer
kubectl patch clusterrole csr-approver --type json -p '[{"op":"replace","path":"/rules/2/resourceNames","value":["kubernetes.io/kubelet-serving"]}]'
# end
sleep 1
