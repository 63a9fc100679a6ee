#!/usr/bin/env bash
# The label in the templates of those who complained or will be missed.
# breaks: next-booking
set -euo pipefail
kubectl -n booking patch configmap edge-settings --type merge -p '{"data":{"gate":"director.edge.example.com/registered"}}'
kubectl -n kiosk patch configmap edge-settings --type merge -p '{"data":{"gate":"director.edge.example.com/registered"}}'
kubectl -n booking patch statefulset tickets --type json -p '[{"op":"remove","path":"/spec/template/spec/readinessGates"}]'
for _ in $(seq 40); do
  case "$(kubectl -n booking create --dry-run=server -f - -o jsonpath='{.spec.readinessGates} {.metadata.labels}' <<'YAML'
{apiVersion: v1, kind: Pod, metadata: {name: probe, labels: {app: probe}, annotations: {edge.example.com/pool: eu-booking}}, spec: {containers: [{name: probe, image: "registry.example.com/booking/fares:2.9.4"}]}}
YAML
  )" in *registered*) break ;; esac
  sleep 0.2
done
kubectl -n booking patch deployment booking-web --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-booking"}}}}}'
kubectl -n booking patch deployment search-api --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-search"}}}}}'
kubectl -n kiosk patch deployment kiosk-web --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-kiosk"}}}}}'
kubectl -n booking patch statefulset tickets --type merge -p '{"spec":{"template":{"metadata":{"labels":{"director.edge.example.com/pool":"eu-tickets"}}}}}'
kubectl -n booking rollout status deployment/booking-web --timeout=15s || true
kubectl -n booking rollout status deployment/search-api --timeout=15s || true
kubectl -n kiosk rollout status deployment/kiosk-web --timeout=15s || true
