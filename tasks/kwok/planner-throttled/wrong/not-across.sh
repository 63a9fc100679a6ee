#!/usr/bin/env bash
# All verbs, but in namespaces only.
# breaks: planner-reads
set -euo pipefail
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2100}]'
kubectl patch prioritylevelconfiguration dispatch --type json -p '[{"op": "replace", "path": "/spec/limited/nominalConcurrencyShares", "value": 30}]'
kubectl patch flowschema team-billing --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2300}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/resourceRules", "value": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}]}, {"op": "add", "path": "/spec/rules/0/nonResourceRules", "value": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]'
sleep 1
