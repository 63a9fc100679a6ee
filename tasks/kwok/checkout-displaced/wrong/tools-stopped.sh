#!/usr/bin/env bash
# Right, with the tools out of the way for a while.
# breaks: neighbours-run
set -euo pipefail
kubectl -n tools scale deployment wiki chat-bridge --replicas=0
sleep 2
kubectl patch priorityclass standard --type merge -p '{"globalDefault":false}'
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop patch deployment cart -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n analytics patch deployment sessionize -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"priorityClassName":"batch-low"}}}}'
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
kubectl -n tools scale deployment wiki chat-bridge --replicas=1
kubectl -n tools rollout status deployment/wiki --timeout=20s || true
