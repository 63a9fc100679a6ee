#!/usr/bin/env bash
# Right, with all copies of the log stopped and started.
# breaks: two-serving
set -euo pipefail
kubectl -n identity patch deployment login -p '{"spec":{"template":{"spec":{"containers":[{"name":"login","envFrom":[{"secretRef":{"name":"token-signing-2026-03"}}]}]}}}}'
kubectl -n identity patch deployment sessions -p '{"spec":{"template":{"spec":{"initContainers":[{"name":"warm-up","env":[{"name":"SIGNING_KEY","valueFrom":{"secretKeyRef":{"name":"token-signing-2026-03","key":"PRIVATE_KEY"}}}]}],"containers":[{"name":"sessions","env":[{"name":"SIGNING_KEY","valueFrom":{"secretKeyRef":{"name":"token-signing-2026-03","key":"PRIVATE_KEY"}}},{"name":"SIGNING_KEY_ID","valueFrom":{"secretKeyRef":{"name":"token-signing-2026-03","key":"KEY_ID"}}}]}]}}}}'
kubectl -n identity patch deployment sessions -p '{"spec":{"template":{"spec":{"initContainers":[{"name":"warm-up","resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}'
kubectl -n identity patch deployment mailer --type json -p '[{"op":"replace","path":"/spec/template/spec/volumes/0/projected/sources/1/secret/name","value":"token-signing-2026-03"}]'
kubectl -n identity patch deployment introspect --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/args/1","value":"--signing-secret=token-signing-2026-03"}]'
kubectl -n identity patch role introspect --type json -p '[{"op":"replace","path":"/rules/0/resourceNames","value":["token-signing-2026-03"]}]'
kubectl -n identity patch deployment admin-console -p '{"spec":{"template":{"spec":{"containers":[{"name":"admin-console","envFrom":[{"secretRef":{"name":"token-signing-2026-03"}}]}]}}}}'
kubectl -n identity patch cronjob token-report --type json -p '[{"op":"replace","path":"/spec/jobTemplate/spec/template/spec/containers/0/envFrom/0/secretRef/name","value":"token-signing-2026-03"}]'
kubectl -n identity patch statefulset audit-log -p '{"spec":{"template":{"spec":{"containers":[{"name":"audit-log","envFrom":[{"secretRef":{"name":"token-signing-2026-03"}}]}]}}}}'
kubectl -n identity scale statefulset audit-log --replicas=0
sleep 2
kubectl -n identity scale statefulset audit-log --replicas=3
kubectl -n identity wait pod/audit-log-0 --for=condition=Ready --timeout=30s
until [ "$(kubectl -n identity get statefulset audit-log -o jsonpath='{.status.readyReplicas}')" = 3 ]; do sleep 0.3; done
kubectl -n identity patch deployment gateway -p '{"spec":{"paused":false,"template":{"spec":{"containers":[{"name":"gateway","image":"registry.example.com/identity/gateway:3.9.2"}],"volumes":[{"name":"keys","secret":{"secretName":"token-signing-2026-03"}}]}}}}'
kubectl -n identity rollout status deployment/gateway --timeout=40s
kubectl -n identity patch deployment gateway -p '{"spec":{"paused":true,"template":{"spec":{"containers":[{"name":"gateway","image":"registry.example.com/identity/gateway:4.0.0"}],"volumes":[{"name":"keys","secret":{"secretName":"token-signing-2026-03"}}]}}}}'
kubectl -n identity rollout status deployment/login --timeout=40s || true
kubectl -n identity rollout status deployment/sessions --timeout=40s || true
kubectl -n identity rollout status deployment/mailer --timeout=40s || true
kubectl -n identity rollout status deployment/introspect --timeout=40s || true
kubectl -n identity delete secret token-signing-2025-09
