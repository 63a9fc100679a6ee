#!/usr/bin/env bash
# Select by name alone: the batch pod becomes an endpoint too.
# breaks: endpoints, target-port
set -euo pipefail
kubectl -n shop patch service pricing --type json -p '[{"op":"remove","path":"/spec/selector/app.kubernetes.io~1component"},{"op":"replace","path":"/spec/ports/0/targetPort","value":8080}]'
kubectl -n shop patch service pricing --type json -p '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"http"}]'
