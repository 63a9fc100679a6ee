#!/usr/bin/env bash
# What the event says.
# breaks: next-time
set -euo pipefail
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-h8m4t csr-tz5gw csr-x6f9j
kubectl certificate deny csr-m7c2x csr-r2n5d csr-p3w8k
kubectl patch clusterrolebinding csr-approver --type json -p '[{"op":"replace","path":"/subjects/0/namespace","value":"node-system"}]'
