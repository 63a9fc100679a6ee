#!/usr/bin/env bash
# Right, and the approver moved to an account of a new name.
# breaks: same-account
set -euo pipefail
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-h8m4t csr-tz5gw csr-x6f9j
kubectl certificate deny csr-m7c2x csr-r2n5d csr-p3w8k
kubectl patch clusterrolebinding csr-approver --type json -p '[{"op":"replace","path":"/subjects/0/namespace","value":"node-system"}]'
kubectl patch clusterrole csr-approver --type json -p '[{"op":"replace","path":"/rules/2/resourceNames","value":["kubernetes.io/kubelet-serving"]}]'
kubectl -n node-system create serviceaccount csr-approver-v2
kubectl create clusterrolebinding csr-approver-v2 --clusterrole=csr-approver --serviceaccount=node-system:csr-approver-v2
kubectl -n node-system set serviceaccount deployment csr-approver csr-approver-v2
kubectl -n node-system rollout status deployment/csr-approver --timeout=25s
