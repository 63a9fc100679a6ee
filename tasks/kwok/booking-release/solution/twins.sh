#!/usr/bin/env bash
# Twins of the new version beside the old ones, then the old ones go, the real ones come and the twins go.
set -euo pipefail
# fix: all manifests on main
cd booking-deploy
sed -i '/^  selector:/,/^  template:/{/version:/d}' prod/booking-api.yaml prod/booking-worker.yaml
sed -i 's/^\( *\)app.kubernetes.io\/version: .*/\1track: stable/' prod/booking-api-service.yaml prod/booking-worker-budget.yaml prod/booking-db-policy.yaml
git commit -qam 'Select by name, instance and track'
cd ..
# end
kubectl -n booking patch service booking-api --type merge -p '{"spec":{"selector":{"app.kubernetes.io/version":null,"track":"stable"}}}'
kubectl -n booking patch networkpolicy booking-db --type json -p '[{"op":"add","path":"/spec/ingress/0/from/-","value":{"podSelector":{"matchLabels":{"app.kubernetes.io/instance":"prod","app.kubernetes.io/version":"7.4.0"}}}}]'
for name in booking-api booking-worker; do
  sed "s/^  name: $name/  name: $name-twin/; /^  replicas:/d; s/^spec:/spec:\n  replicas: 6/" "booking-deploy/prod/$name.yaml" | kubectl apply -f -
  kubectl -n booking rollout status "deployment/$name-twin" --timeout=60s
  kubectl -n booking delete deployment "$name"
  sed "/^  replicas:/d; s/^spec:/spec:\n  replicas: $([ $name = booking-api ] && echo 6 || echo 3)/" "booking-deploy/prod/$name.yaml" | kubectl apply -f -
  kubectl -n booking rollout status "deployment/$name" --timeout=60s
done
# fix: the twins go
kubectl -n booking delete deployment booking-api-twin booking-worker-twin
# fix: what selects
kubectl apply -f booking-deploy/prod/booking-db-policy.yaml -f booking-deploy/prod/booking-worker-budget.yaml
# end
for try in $(seq 60); do [ "$(kubectl -n booking get pods -l app.kubernetes.io/name=booking-api,track=stable -o name | wc -l)" = 6 ] && break; sleep 0.3; done
sleep 2
