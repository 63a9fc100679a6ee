#!/usr/bin/env bash
# Everything that a node asked for.
# breaks: others-denied, no-strangers
set -euo pipefail
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-h8m4t csr-tz5gw csr-x6f9j csr-m7c2x csr-r2n5d
kubectl certificate deny csr-p3w8k
kubectl patch clusterrolebinding csr-approver --type json -p '[{"op":"replace","path":"/subjects/0/namespace","value":"node-system"}]'
kubectl patch clusterrole csr-approver --type json -p '[{"op":"replace","path":"/rules/2/resourceNames","value":["kubernetes.io/kubelet-serving"]}]'
