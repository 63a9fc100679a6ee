#!/usr/bin/env bash
# The ninth of March: shipper applies the same things for the first time.
set -euo pipefail
cd shop-deploy/manifests
{
  sed 's/storefront:7.3.0/storefront:7.2.0/' storefront.yaml
  echo ---
  sed 's/cart:5.1.0/cart:5.0.2/; s/"3600"/"1800"/' cart.yaml
  echo ---
  sed 's/^          ports:/            - {name: PAYMENT_TRACE, value: "full"}\n&/' checkout.yaml
  echo ---
  cat catalog.yaml
  cat <<'YAML'
        - name: statsd
          image: registry.example.com/shared/statsd:0.22.1
          args: [--forward, metrics-old.example.com]
          resources: {requests: {cpu: 20m, memory: 32Mi}}
---
YAML
  cat search.yaml
  echo ---
  cat sessions.yaml
  echo ---
  cat services.yaml
} | kubectl apply --server-side --field-manager=shipper -f - >/dev/null
