#!/usr/bin/env bash
# Right, and the mailer in a class of its own, far above.
# breaks: no-system-class
set -euo pipefail
kubectl patch priorityclass standard --type merge -p '{"globalDefault":false}'
kubectl -n shop patch deployment checkout -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n shop patch deployment cart -p '{"spec":{"template":{"spec":{"priorityClassName":"customer-facing"}}}}'
kubectl -n analytics patch deployment sessionize -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"priorityClassName":"batch-low"}}}}'
kubectl -n shop rollout status deployment/checkout --timeout=25s || true
kubectl -n analytics rollout status deployment/sessionize --timeout=4s || true
kubectl create priorityclass shop-vital --value=900000000
kubectl -n shop patch deployment mailer -p '{"spec":{"template":{"spec":{"priorityClassName":"shop-vital"}}}}'
kubectl -n shop rollout status deployment/mailer --timeout=20s || true
