#!/usr/bin/env bash
# Add the verbs to release-manager, as Pawel did.
# breaks: bot-deployments, everybody-else, bot-statefulsets
# rung: first-obvious-fix
set -euo pipefail
kubectl patch clusterrole release-manager --type json -p '[{"op":"add","path":"/rules/-","value":{"apiGroups":["apps"],"resources":["deployments","statefulsets"],"verbs":["get","list","watch","patch"]}}]'
