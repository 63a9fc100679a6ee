#!/usr/bin/env bash
# Both releases and the variable, and the old owners stay.
# breaks: leftover-container, one-owner, pods-are-the-autoscalers
# rung: honest-partial
set -euo pipefail
cd shop-deploy
sed -i '/^  replicas:/d' manifests/storefront.yaml
sed -i '/^          resources:/d' manifests/cart.yaml
git commit -qam 'Pods of storefront and search, resources of cart: decided elsewhere'
kubectl apply --server-side --field-manager=shipper --force-conflicts -f manifests/storefront.yaml -f manifests/cart.yaml
./ship.sh
kubectl -n shop set env deployment/checkout PAYMENT_TRACE-
for name in storefront cart checkout catalog; do kubectl -n shop rollout status "deployment/$name" --timeout=30s || true; done
