#!/usr/bin/env bash
# Every rule says the role of today.
set -euo pipefail
# fix: audit
kubectl -n audit patch daemonset audit-forwarder --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/master":null,"node-role.kubernetes.io/control-plane":""},"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
# fix: snapshots
kubectl -n backup patch daemonset etcd-snapshot --type merge -p '{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists"}]}]}}}}}}}'
# fix: logs
kubectl -n logging patch daemonset log-agent --type merge -p '{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"DoesNotExist"}]}]}}}}}}}'
# fix: disks
kubectl -n storage patch daemonset csi-node --type merge -p '{"spec":{"template":{"spec":{"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"},{"key":"pool","operator":"Equal","value":"edge","effect":"NoSchedule"},{"key":"accelerator","operator":"Exists","effect":"NoSchedule"}]}}}}'
# fix: the probe
kubectl -n monitoring patch deployment apiserver-probe --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/master":null,"node-role.kubernetes.io/control-plane":""},"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
# end
kubectl -n storage rollout status daemonset/csi-node --timeout=120s || true
kubectl -n logging rollout status daemonset/log-agent --timeout=120s || true
kubectl -n monitoring rollout status deployment/apiserver-probe --timeout=120s || true
