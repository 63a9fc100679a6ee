#!/usr/bin/env bash
# The taint keeps away what does not belong there; rules by affinity elsewhere.
set -euo pipefail
# fix: those without nodes
kubectl -n audit patch daemonset audit-forwarder --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":null,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists"}]}]}}},"tolerations":[{"operator":"Exists"}]}}}}'
kubectl -n backup patch daemonset etcd-snapshot --type merge -p '{"spec":{"template":{"spec":{"affinity":null,"nodeSelector":{"node-role.kubernetes.io/control-plane":""}}}}}'
# fix: those that run, and not as agreed
kubectl -n logging patch daemonset log-agent --type merge -p '{"spec":{"template":{"spec":{"affinity":null,"tolerations":[{"key":"pool","operator":"Equal","value":"edge","effect":"NoSchedule"},{"key":"accelerator","operator":"Exists","effect":"NoSchedule"}]}}}}'
kubectl -n logging rollout status daemonset/log-agent --timeout=120s
for node in $(kubectl get nodes -l node-role.kubernetes.io/control-plane -o name); do
  kubectl -n logging delete pods -l app=log-agent --field-selector "spec.nodeName=${node#node/}" --wait=true
done
kubectl -n storage patch daemonset csi-node --type merge -p '{"spec":{"template":{"spec":{"tolerations":[{"operator":"Exists"}]}}}}'
kubectl -n monitoring patch deployment apiserver-probe --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":null,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists"}]}]}}},"tolerations":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}]}}}}'
# end
kubectl -n storage rollout status daemonset/csi-node --timeout=120s || true
kubectl -n logging rollout status daemonset/log-agent --timeout=120s || true
kubectl -n monitoring rollout status deployment/apiserver-probe --timeout=120s || true
