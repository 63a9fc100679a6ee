#!/usr/bin/env bash
# Right, and checkout let into gateway on whatever port.
# breaks: way-in-closed
set -euo pipefail
kubectl -n payments patch networkpolicy dns --type json -p '[{"op":"replace","path":"/spec/egress","value":[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}},"podSelector":{"matchLabels":{"k8s-app":"kube-dns"}}}],"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":53}]}]}]'
kubectl -n payments patch networkpolicy gateway --type json -p '[{"op":"replace","path":"/spec/egress/0/to/0/ipBlock/except","value":["203.0.113.192/26"]}]'
kubectl -n payments patch networkpolicy ledger --type json -p '[{"op":"replace","path":"/spec/egress/0/to/0","value":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"data"}},"podSelector":{"matchLabels":{"app":"postgres"}}}}]'
kubectl -n payments patch networkpolicy ledger --type json -p '[{"op":"add","path":"/spec/ingress/0/from/-","value":{"podSelector":{"matchLabels":{"app":"refunds"}}}}]'
kubectl -n payments patch networkpolicy gateway --type json -p '[{"op":"remove","path":"/spec/ingress/0/ports"}]'
