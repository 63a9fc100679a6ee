#!/usr/bin/env bash
# Name the namespace of today.
# breaks: planner-reads, planner-writes, planner-shares, billing-served
# rung: first-obvious-fix
set -euo pipefail
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
sleep 1
