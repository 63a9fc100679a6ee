#!/usr/bin/env bash
# The line from the forum, then the release.
# breaks: retention-carried, minimum, clients, same-objects, newer-plans
# rung: first-obvious-fix
set -euo pipefail
kubectl patch crd backupplans.backup.northwind.example backuptargets.backup.northwind.example --subresource=status --type merge -p '{"status":{"storedVersions":["v1"]}}'
kubectl apply --validate=false -f operator-3.0/crds.yaml
kubectl apply --validate=false -f operator-3.0/operator.yaml
sleep 2
