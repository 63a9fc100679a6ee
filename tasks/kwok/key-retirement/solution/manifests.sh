#!/usr/bin/env bash
# Edited manifests; a role of its own; the log by a rolling update.
set -euo pipefail
swap() { kubectl -n identity get "$@" -o yaml | sed '/resourceVersion:/d; /last-applied/,+1d; s/token-signing-2025-09/token-signing-2026-03/g'; }
# fix: all that names it but gateway
swap deployment login sessions mailer introspect admin-console | kubectl replace -f -
swap cronjob token-report | kubectl replace -f -
# fix: pods of sessions are admitted
kubectl -n identity patch deployment sessions --type json -p '[{"op":"add","path":"/spec/template/spec/initContainers/0/resources","value":{"requests":{"cpu":"50m","memory":"64Mi"}}}]'
# fix: the log, one by one
kubectl -n identity patch statefulset audit-log --type merge -p '{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}'
swap statefulset audit-log | kubectl replace -f -
kubectl -n identity rollout status statefulset/audit-log --timeout=60s
kubectl -n identity patch statefulset audit-log --type merge -p '{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}'
# fix: rights
kubectl -n identity create role introspect-key --verb=get --resource=secrets --resource-name=token-signing-2026-03
kubectl -n identity create rolebinding introspect-key --role=introspect-key --serviceaccount=identity:introspect
kubectl -n identity delete rolebinding introspect
# fix: gateway
swap deployment gateway > gateway.yaml
sed 's/gateway:4.0.0/gateway:3.9.2/; s/paused: true/paused: false/' gateway.yaml | kubectl replace -f -
kubectl -n identity rollout status deployment/gateway --timeout=40s
swap deployment gateway | sed 's/gateway:3.9.2/gateway:4.0.0/' > gateway.yaml
kubectl -n identity rollout pause deployment/gateway
kubectl -n identity set image deployment/gateway gateway=registry.example.com/identity/gateway:4.0.0
# end
kubectl -n identity rollout status deployment/login --timeout=40s || true
kubectl -n identity rollout status deployment/sessions --timeout=40s || true
kubectl -n identity rollout status deployment/mailer --timeout=40s || true
kubectl -n identity rollout status deployment/introspect --timeout=40s || true
# fix: the key
kubectl -n identity delete secret token-signing-2025-09
# end
