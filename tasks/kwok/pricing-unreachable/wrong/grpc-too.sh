#!/usr/bin/env bash
# Right, and the same change to the other Service, which did not need it.
# breaks: grpc-works
set -euo pipefail
kubectl -n shop patch service pricing --type merge -p '{"spec":{"selector":{"app.kubernetes.io/component":"api"}}}'
kubectl -n shop patch service pricing --type json -p '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"http"}]'
kubectl -n shop patch service pricing-grpc --type json -p '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"http"}]'
