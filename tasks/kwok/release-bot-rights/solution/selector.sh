#!/usr/bin/env bash
# Let the rule find the part by its new label, exec apart; the bot's own rights by imperative commands.
set -euo pipefail
# fix: a second selector
kubectl label clusterrole release-manager-exec rbac.northwind.example/withdrawn=true
kubectl patch clusterrole release-manager --type json -p '[{"op":"add","path":"/aggregationRule/clusterRoleSelectors/-","value":{"matchLabels":{"rbac.northwind.example/component":"release-manager"},"matchExpressions":[{"key":"rbac.northwind.example/withdrawn","operator":"DoesNotExist"}]}}]'
# fix: the bot's own
kubectl -n orders create role bot-sts --verb=get,list,watch,patch --resource=statefulsets.apps
kubectl -n orders create rolebinding bot-sts --role=bot-sts --serviceaccount=ci:release-bot
# end
