#!/usr/bin/env bash
# Right, but StatefulSets for the bot in pricing, too.
# breaks: bot-no-more
set -euo pipefail
kubectl label clusterrole release-manager-deploy rbac.northwind.example/part-of=release-manager
kubectl create clusterrole release-bot-statefulsets --verb=get,list,watch,patch --resource=statefulsets.apps
for ns in orders pricing; do
  kubectl -n $ns create rolebinding release-bot-statefulsets --clusterrole=release-bot-statefulsets --serviceaccount=ci:release-bot
done
