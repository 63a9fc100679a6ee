#!/usr/bin/env bash
# Select by name alone, with the port as a number: the batch pod gets a share of the requests.
# breaks: endpoints
set -euo pipefail
kubectl -n shop patch service pricing --type json -p '[{"op":"remove","path":"/spec/selector/app.kubernetes.io~1component"},{"op":"replace","path":"/spec/ports/0/targetPort","value":8080}]'
