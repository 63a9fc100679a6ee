#!/usr/bin/env bash
# Rule by rule, where it is.
set -euo pipefail
# fix: DNS, and only DNS
kubectl -n payments patch networkpolicy dns --type json -p '[{"op":"replace","path":"/spec/egress","value":[{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}},"podSelector":{"matchLabels":{"k8s-app":"kube-dns"}}}],"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":53}]}]}]'
# fix: the card network but for what it gave up
kubectl -n payments patch networkpolicy gateway --type json -p '[{"op":"replace","path":"/spec/egress/0/to/0/ipBlock/except","value":["203.0.113.192/26"]}]'
# fix: the database
kubectl -n payments patch networkpolicy ledger --type json -p '[{"op":"replace","path":"/spec/egress/0/to/0","value":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"data"}},"podSelector":{"matchLabels":{"app":"postgres"}}}}]'
# fix: refunds into ledger
kubectl -n payments patch networkpolicy ledger --type json -p '[{"op":"add","path":"/spec/ingress/0/from/-","value":{"podSelector":{"matchLabels":{"app":"refunds"}}}}]'
# end
