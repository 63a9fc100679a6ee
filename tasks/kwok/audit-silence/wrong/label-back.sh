#!/usr/bin/env bash
# The label is put back, and everything finds its nodes.
# breaks: disks-everywhere, probe-comes-back, nodes-untouched, ...
set -euo pipefail
kubectl label nodes -l node-role.kubernetes.io/control-plane node-role.kubernetes.io/master=
kubectl -n audit patch daemonset audit-forwarder --type merge -p '{"spec":{"template":{"spec":{"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
kubectl -n storage rollout status daemonset/csi-node --timeout=120s || true
kubectl -n logging rollout status daemonset/log-agent --timeout=120s || true
kubectl -n monitoring rollout status deployment/apiserver-probe --timeout=120s || true
