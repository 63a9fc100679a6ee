#!/usr/bin/env bash
# StatefulSets into the part that everybody has.
# breaks: bot-no-more, others-no-more
set -euo pipefail
kubectl patch clusterrole release-manager-deploy --type json -p '[{"op":"replace","path":"/rules/0/resources","value":["deployments","statefulsets"]}]'
kubectl label clusterrole release-manager-deploy rbac.northwind.example/part-of=release-manager
