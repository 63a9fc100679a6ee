#!/usr/bin/env bash
# Allow a larger skew.
# breaks: spread-enforced
set -euo pipefail
kubectl -n shop patch deployment frontend --type json -p '[{"op":"replace","path":"/spec/template/spec/topologySpreadConstraints/0/maxSkew","value":5}]'
kubectl -n shop patch deployment webhooks --type json -p '[{"op":"replace","path":"/spec/template/spec/topologySpreadConstraints/0/maxSkew","value":3}]'
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
