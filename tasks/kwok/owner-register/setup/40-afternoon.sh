#!/usr/bin/env bash
# The register is replaced while the rule is in force, then a node is patched, then somebody helps himself.
set -euo pipefail
until ! kubectl -n shop create deployment later --image=registry.example.com/shop/later:1 --dry-run=server >/dev/null 2>&1; do sleep 0.05; done
kubectl -n policy-system delete configmap owner-register >/dev/null
kubectl -n orders delete $(kubectl -n orders get pods -l app=orders-api -o name | head -2) --wait=false >/dev/null
kubectl label namespace returns ownership=exempt >/dev/null
