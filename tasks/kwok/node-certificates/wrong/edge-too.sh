#!/usr/bin/env bash
# Two addresses and two names look wrong.
# breaks: nodes-certified
set -euo pipefail
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-tz5gw csr-x6f9j
kubectl certificate deny csr-m7c2x csr-r2n5d csr-p3w8k csr-h8m4t
kubectl patch clusterrolebinding csr-approver --type json -p '[{"op":"replace","path":"/subjects/0/namespace","value":"node-system"}]'
kubectl patch clusterrole csr-approver --type json -p '[{"op":"replace","path":"/rules/2/resourceNames","value":["kubernetes.io/kubelet-serving"]}]'
