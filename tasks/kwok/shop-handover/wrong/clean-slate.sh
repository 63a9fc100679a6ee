#!/usr/bin/env bash
# All claims are cleared at once, whoever made them.
# breaks: one-owner, desk-memory
set -euo pipefail
cd shop-deploy
sed -i '/^  replicas:/d' manifests/storefront.yaml manifests/search.yaml
sed -i '/^          resources:/d' manifests/cart.yaml
git commit -qam 'Pods of storefront and search, resources of cart: decided elsewhere'
kubectl apply --server-side --field-manager=to-autoscaler -f - <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: search, namespace: shop}
spec: {replicas: 3}
YAML
./ship.sh || true
for name in storefront search cart catalog checkout sessions; do
  kubectl -n shop patch deployment "$name" --type merge -p '{"metadata":{"managedFields":[{}]}}'
done
kubectl apply --server-side --field-manager=shipper --force-conflicts -f manifests/
kubectl -n shop set env deployment/checkout PAYMENT_TRACE-
kubectl -n shop patch deployment catalog -p '{"spec":{"template":{"spec":{"containers":[{"name":"statsd","$patch":"delete"}]}}}}'
for name in storefront cart checkout catalog; do kubectl -n shop rollout status "deployment/$name" --timeout=30s || true; done
