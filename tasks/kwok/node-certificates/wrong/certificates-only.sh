#!/usr/bin/env bash
# The nodes work again; four weeks are long.
# breaks: next-time
# rung: honest-partial
set -euo pipefail
kubectl certificate approve csr-4kx7p csr-9d2vn csr-bq6lz csr-h8m4t csr-tz5gw csr-x6f9j
kubectl certificate deny csr-m7c2x csr-r2n5d csr-p3w8k
