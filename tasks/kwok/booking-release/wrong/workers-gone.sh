#!/usr/bin/env bash
# The workers as in February: nobody sees them, and their pods go first.
# breaks: worker-always
set -euo pipefail
cd booking-deploy
sed -i '/^  selector:/,/^  template:/{/version:/d}' prod/booking-api.yaml prod/booking-worker.yaml
sed -i 's/^\( *\)app.kubernetes.io\/version: .*/\1track: stable/' prod/booking-api-service.yaml prod/booking-worker-budget.yaml prod/booking-db-policy.yaml
git commit -qam 'Select by name, instance and track'
cd ..
kubectl -n booking patch service booking-api --type merge -p '{"spec":{"selector":{"app.kubernetes.io/version":null,"track":"stable"}}}'
kubectl -n booking patch networkpolicy booking-db --type json -p '[{"op":"remove","path":"/spec/ingress/0/from/0/podSelector/matchLabels/app.kubernetes.io~1version"},{"op":"remove","path":"/spec/ingress/0/from/1/podSelector/matchLabels/app.kubernetes.io~1version"}]'
kubectl -n booking delete deployment booking-api --cascade=orphan
sed 's/^spec:/spec:\n  replicas: 6/' booking-deploy/prod/booking-api.yaml | kubectl apply -f -
kubectl -n booking rollout status deployment/booking-api --timeout=60s
kubectl -n booking delete deployment booking-worker --cascade=foreground
sleep 4
kubectl apply -f booking-deploy/prod/booking-worker.yaml
kubectl -n booking rollout status deployment/booking-worker --timeout=60s
kubectl apply -f booking-deploy/prod/booking-db-policy.yaml
kubectl apply -f booking-deploy/prod/booking-worker-budget.yaml
sleep 2
