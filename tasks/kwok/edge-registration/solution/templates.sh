#!/usr/bin/env bash
# The gate in the policy for all namespaces, and the label in each template.
set -euo pipefail
# fix: what all pods wait for
kubectl patch mutatingadmissionpolicy edge-readiness --type json -p "$(kubectl get mutatingadmissionpolicy edge-readiness -o jsonpath='{.spec.mutations[0].jsonPatch.expression}' | sed -e "s|params.data.gate|'director.edge.example.com/registered'|g" -e 's/"/\\"/g' -e '1s/^/[{"op":"replace","path":"\/spec\/mutations\/0\/jsonPatch\/expression","value":"/' -e '$s/$/"}]/')"
# end
for _ in $(seq 40); do
  case "$(kubectl -n booking create --dry-run=server -f - -o jsonpath='{.spec.readinessGates} {.metadata.labels}' <<'YAML'
{apiVersion: v1, kind: Pod, metadata: {name: probe, labels: {app: probe}, annotations: {edge.example.com/pool: eu-booking}}, spec: {containers: [{name: probe, image: "registry.example.com/booking/fares:2.9.4"}]}}
YAML
  )" in *registered*) break ;; esac
  sleep 0.2
done
# fix: the pools
kubectl -n booking patch deployment booking-web --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-booking"}}}}}'
kubectl -n booking patch deployment search-api --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-search"}}}}}'
kubectl -n booking patch deployment fares --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-fares"}}}}}'
kubectl -n kiosk patch deployment kiosk-web --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-kiosk"}}}}}'
kubectl -n booking patch statefulset tickets --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-tickets"}}}}}'
# fix: a gate of its own
kubectl -n booking patch statefulset tickets --type json -p '[{"op":"remove","path":"/spec/template/spec/readinessGates"}]'
# end
kubectl -n booking rollout status deployment/booking-web --timeout=15s || true
kubectl -n booking rollout status deployment/search-api --timeout=15s || true
kubectl -n booking rollout status deployment/fares --timeout=15s || true
kubectl -n kiosk rollout status deployment/kiosk-web --timeout=15s || true
