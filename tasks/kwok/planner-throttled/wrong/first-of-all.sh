#!/usr/bin/env bash
# In front of everything, to be sure.
# breaks: numbers
set -euo pipefail
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/resourceRules", "value": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}]}, {"op": "add", "path": "/spec/rules/0/nonResourceRules", "value": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]'
kubectl patch prioritylevelconfiguration dispatch --type json -p '[{"op": "replace", "path": "/spec/limited/nominalConcurrencyShares", "value": 30}]'
kubectl patch flowschema team-billing --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2300}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 50}]'
sleep 1
