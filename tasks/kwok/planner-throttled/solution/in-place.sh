#!/usr/bin/env bash
# The schemas that there are, mended.
set -euo pipefail
# fix: whom it names
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
# fix: its place
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2100}]'
# fix: what it matches
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/resourceRules", "value": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}]}, {"op": "add", "path": "/spec/rules/0/nonResourceRules", "value": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]'
# fix: room
kubectl patch prioritylevelconfiguration dispatch --type json -p '[{"op": "replace", "path": "/spec/limited/nominalConcurrencyShares", "value": 30}]'
# fix: the place of billing
kubectl patch flowschema team-billing --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2300}]'
# end
sleep 1
