#!/usr/bin/env bash
# Say where the pods belong: zones without such a node are left out of the count.
set -euo pipefail
# fix: frontend
kubectl -n shop patch deployment frontend -p '{"spec":{"template":{"spec":{"nodeSelector":{"pool":"general"}}}}}'
# fix: webhooks
kubectl -n shop patch deployment webhooks -p '{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In","values":["general"]}]}]}}}}}}}'
# end
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
