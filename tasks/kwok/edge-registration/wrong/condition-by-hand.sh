#!/usr/bin/env bash
# Report what the dead controller would have reported, pod by pod.
# breaks: release-out, next-booking, next-kiosk, next-tickets, not-by-hand
# rung: first-obvious-fix
set -euo pipefail
for _ in 1 2 3 4; do
kubectl -n booking get pods -l app=booking-web -o name | while read -r pod; do
  kubectl -n booking patch "$pod" --subresource=status -p '{"status":{"conditions":[{"type":"edge.example.com/attached","status":"True"}]}}' < /dev/null
done
kubectl -n booking rollout status deployment/booking-web --timeout=2s && break
done || true
kubectl -n booking get pods -l app=search-api -o name | while read -r pod; do
  kubectl -n booking patch "$pod" --subresource=status -p '{"status":{"conditions":[{"type":"edge.example.com/attached","status":"True"}]}}' < /dev/null
done
kubectl -n booking rollout status deployment/booking-web --timeout=15s || true
kubectl -n booking rollout status deployment/search-api --timeout=15s || true
