#!/usr/bin/env bash
# Sunday: the upgrade takes the old role off the control plane's nodes, label and taint.
set -euo pipefail
nodes=(control-0 control-1 control-2)
kubectl label nodes "${nodes[@]}" node-role.kubernetes.io/master- >/dev/null &
kubectl taint nodes "${nodes[@]}" node-role.kubernetes.io/control-plane:NoSchedule node-role.kubernetes.io/master:NoSchedule- >/dev/null &
for job in $(jobs -p); do wait "$job"; done
# The workers follow, and the first of them starts its pods anew.
kubectl -n storage delete pods -l app=csi-node --field-selector spec.nodeName=worker-0 --wait=false >/dev/null
