#!/usr/bin/env bash
# One after the other, where they are.
set -euo pipefail
# fix: those that roll by themselves
kubectl -n identity patch deployment login -p '{"spec":{"template":{"spec":{"containers":[{"name":"login","envFrom":[{"secretRef":{"name":"token-signing-2026-03"}}]}]}}}}'
kubectl -n identity patch deployment sessions -p '{"spec":{"template":{"spec":{"initContainers":[{"name":"warm-up","env":[{"name":"SIGNING_KEY","valueFrom":{"secretKeyRef":{"name":"token-signing-2026-03","key":"PRIVATE_KEY"}}}]}],"containers":[{"name":"sessions","env":[{"name":"SIGNING_KEY","valueFrom":{"secretKeyRef":{"name":"token-signing-2026-03","key":"PRIVATE_KEY"}}},{"name":"SIGNING_KEY_ID","valueFrom":{"secretKeyRef":{"name":"token-signing-2026-03","key":"KEY_ID"}}}]}]}}}}'
kubectl -n identity patch deployment mailer --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0/projected/sources/1/secret/name","value":"token-signing-2026-03"}]'
kubectl -n identity patch deployment introspect --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/args/1","value":"--signing-secret=token-signing-2026-03"}]'
# fix: what the new pods of sessions lack
kubectl -n identity patch deployment sessions -p '{"spec":{"template":{"spec":{"initContainers":[{"name":"warm-up","resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}'
# fix: what introspect may read
kubectl -n identity patch role introspect --type json -p '[{"op":"replace","path":"/rules/0/resourceNames","value":["token-signing-2026-03"]}]'
# fix: switched off
kubectl -n identity patch deployment admin-console -p '{"spec":{"template":{"spec":{"containers":[{"name":"admin-console","envFrom":[{"secretRef":{"name":"token-signing-2026-03"}}]}]}}}}'
# fix: once a month
kubectl -n identity patch cronjob token-report --type json -p '[{"op":"replace","path":"/spec/jobTemplate/spec/template/spec/containers/0/envFrom/0/secretRef/name","value":"token-signing-2026-03"}]'
# fix: the template of the log
kubectl -n identity patch statefulset audit-log -p '{"spec":{"template":{"spec":{"containers":[{"name":"audit-log","envFrom":[{"secretRef":{"name":"token-signing-2026-03"}}]}]}}}}'
# fix: its copies
for copy in 2 1 0; do
  kubectl -n identity delete pod audit-log-$copy
  until kubectl -n identity wait pod/audit-log-$copy --for=condition=Ready --timeout=20s; do sleep 0.3; done
  until [ "$(kubectl -n identity get statefulset audit-log -o jsonpath='{.status.readyReplicas}')" = 3 ]; do sleep 0.3; done
done
# fix: gateway with what runs, then held again
kubectl -n identity patch deployment gateway -p '{"spec":{"paused":false,"template":{"spec":{"containers":[{"name":"gateway","image":"registry.example.com/identity/gateway:3.9.2"}],"volumes":[{"name":"keys","secret":{"secretName":"token-signing-2026-03"}}]}}}}'
kubectl -n identity rollout status deployment/gateway --timeout=40s
kubectl -n identity patch deployment gateway -p '{"spec":{"paused":true,"template":{"spec":{"containers":[{"name":"gateway","image":"registry.example.com/identity/gateway:4.0.0"}],"volumes":[{"name":"keys","secret":{"secretName":"token-signing-2026-03"}}]}}}}'
# end
kubectl -n identity rollout status deployment/login --timeout=40s || true
kubectl -n identity rollout status deployment/sessions --timeout=40s || true
kubectl -n identity rollout status deployment/mailer --timeout=40s || true
kubectl -n identity rollout status deployment/introspect --timeout=40s || true
# fix: the key itself
kubectl -n identity delete secret token-signing-2025-09
# end
