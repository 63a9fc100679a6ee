#!/usr/bin/env bash
# Point the Service at what the running pods have.
set -euo pipefail
# fix: the selector
kubectl -n shop patch service pricing --type merge -p '{"spec":{"selector":{"app.kubernetes.io/component":"api"}}}'
# fix: the name of the port
kubectl -n shop patch service pricing --type json -p '[{"op":"replace","path":"/spec/ports/0/targetPort","value":"http"}]'
# end
