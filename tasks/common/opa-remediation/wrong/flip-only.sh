#!/usr/bin/env bash
# Enforce without fixing anything; existing pods keep running.
# breaks: no-privileged-containers, limits-everywhere, repo-workloads, report, teams-can-deploy
# rung: first-obvious-fix
set -euo pipefail
for name in workload-privilege-teams workload-limits-teams; do
  kubectl patch validatingadmissionpolicybinding "$name" --type merge -p '{"spec":{"validationActions":["Deny"]}}'
done
cd cluster-config
sed -i "s/\[Audit\]/[Deny]/" policies/*-binding.yaml
git commit -qam "Enforce"
sleep 3
kubectl get pods -A
