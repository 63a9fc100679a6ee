#!/usr/bin/env bash
# Right, and a restart to be sure.
# breaks: pods-untouched
set -euo pipefail
kubectl -n shop patch service pricing --type merge -p '{"spec":{"selector":{"app.kubernetes.io/component":"api"}}}'
kubectl -n shop patch service pricing --type json -p '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"http"}]'
kubectl -n shop rollout restart deployment/pricing
kubectl -n shop rollout status deployment/pricing --timeout=60s
