#!/usr/bin/env bash
# Only what was read one by one: the list is overlooked.
# breaks: secrets
# rung: honest-partial
set -euo pipefail
cat > incident.yaml <<'YAML'
identities:
  - system:serviceaccount:ci:runner
  - system:serviceaccount:ci:cache-warmer
addresses:
  - 198.51.100.23
  - 203.0.113.80
secrets:
  - orders/db-credentials
  - catalog/search-key
left:
  - RoleBinding/orders/metrics-view
  - CronJob/catalog/index-refresh
YAML
