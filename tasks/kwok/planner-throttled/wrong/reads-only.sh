#!/usr/bin/env bash
# Everything that it reads, by the verbs that were there.
# breaks: planner-writes
set -euo pipefail
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2100}]'
kubectl patch prioritylevelconfiguration dispatch --type json -p '[{"op": "replace", "path": "/spec/limited/nominalConcurrencyShares", "value": 30}]'
kubectl patch flowschema team-billing --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2300}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/resourceRules", "value": [{"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}]}]'
sleep 1
