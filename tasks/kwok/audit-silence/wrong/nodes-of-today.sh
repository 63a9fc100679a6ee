#!/usr/bin/env bash
# csi-node for every taint that a node has today.
# breaks: disks-everywhere
set -euo pipefail
kubectl -n audit patch daemonset audit-forwarder --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/master":null,"node-role.kubernetes.io/control-plane":""},"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
kubectl -n backup patch daemonset etcd-snapshot --type merge -p '{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists"}]}]}}}}}}}'
kubectl -n logging patch daemonset log-agent --type merge -p '{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"DoesNotExist"}]}]}}}}}}}'
kubectl -n storage patch daemonset csi-node --type merge -p '{"spec":{"template":{"spec":{"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"},{"key":"pool","operator":"Equal","value":"edge","effect":"NoSchedule"}]}}}}'
kubectl -n monitoring patch deployment apiserver-probe --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"node-role.kubernetes.io/master":null,"node-role.kubernetes.io/control-plane":""},"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
kubectl -n storage rollout status daemonset/csi-node --timeout=120s || true
kubectl -n logging rollout status daemonset/log-agent --timeout=120s || true
kubectl -n monitoring rollout status deployment/apiserver-probe --timeout=120s || true
