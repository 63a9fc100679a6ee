#!/usr/bin/env bash
# The days since: the autoscaler and the capacity desk did their work, two things were taken out and shipped.
set -euo pipefail
cd shop-deploy/manifests
kubectl -n shop patch deployment storefront --subresource=scale --type merge --field-manager=kube-controller-manager -p '{"spec":{"replicas":6}}' >/dev/null &
kubectl -n shop patch deployment cart --field-manager=rightsizer -p '{"spec":{"template":{"spec":{"containers":[{"name":"cart","resources":{"requests":{"cpu":"150m","memory":"512Mi"},"limits":{"memory":"512Mi"}}}]}}}}' >/dev/null &
{ cat checkout.yaml; echo ---; cat catalog.yaml; } | kubectl apply --server-side --field-manager=shipper -f - >/dev/null &
for job in $(jobs -p); do wait "$job"; done
