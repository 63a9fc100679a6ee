#!/usr/bin/env bash
# Numbers that work: before what takes the lists, whatever the agreement says.
# breaks: numbers
set -euo pipefail
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 3500}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/resourceRules", "value": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}]}, {"op": "add", "path": "/spec/rules/0/nonResourceRules", "value": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]'
kubectl patch prioritylevelconfiguration dispatch --type json -p '[{"op": "replace", "path": "/spec/limited/nominalConcurrencyShares", "value": 30}]'
kubectl patch flowschema team-billing --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 1500}]'
sleep 1
