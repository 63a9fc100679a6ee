#!/usr/bin/env bash
# Right, and the other request of general-3 denied: nodes have no business there.
# breaks: not-ours
set -euo pipefail
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-h8m4t csr-tz5gw csr-x6f9j
kubectl certificate deny csr-m7c2x csr-r2n5d csr-p3w8k
kubectl certificate deny csr-v8t3q
kubectl patch clusterrolebinding csr-approver --type json -p '[{"op":"replace","path":"/subjects/0/namespace","value":"node-system"}]'
kubectl patch clusterrole csr-approver --type json -p '[{"op":"replace","path":"/rules/2/resourceNames","value":["kubernetes.io/kubelet-serving"]}]'
