#!/usr/bin/env bash
# Right, and the crawler is taken to the level of search, so that the shared one is free.
# breaks: others-unmoved
set -euo pipefail
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/subjects/0/serviceAccount/namespace", "value": "dispatch"}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2100}]'
kubectl patch flowschema team-dispatch --type json -p '[{"op": "replace", "path": "/spec/rules/0/resourceRules", "value": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}]}, {"op": "add", "path": "/spec/rules/0/nonResourceRules", "value": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]'
kubectl patch prioritylevelconfiguration dispatch --type json -p '[{"op": "replace", "path": "/spec/limited/nominalConcurrencyShares", "value": 30}]'
kubectl patch flowschema team-billing --type json -p '[{"op": "replace", "path": "/spec/matchingPrecedence", "value": 2300}]'
kubectl patch flowschema team-search --type json -p '[{"op": "add", "path": "/spec/rules/0/subjects/-", "value": {"kind": "ServiceAccount", "serviceAccount": {"name": "crawler", "namespace": "search"}}}]'
sleep 1
