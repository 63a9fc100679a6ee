#!/usr/bin/env bash
# The one that was reported.
# breaks: snapshots, no-double-logs, disks-everywhere, probe-comes-back
# rung: first-obvious-fix
set -euo pipefail
kubectl -n audit patch daemonset audit-forwarder --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/master":null,"node-role.kubernetes.io/control-plane":""},"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
kubectl -n storage rollout status daemonset/csi-node --timeout=120s || true
kubectl -n logging rollout status daemonset/log-agent --timeout=120s || true
kubectl -n monitoring rollout status deployment/apiserver-probe --timeout=120s || true
