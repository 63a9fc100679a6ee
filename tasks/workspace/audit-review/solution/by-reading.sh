#!/usr/bin/env bash
# Read line by line with a small program, written down by hand.
set -euo pipefail
# fix: the four lists
cat > incident.yaml <<'YAML'
identities:
  - system:serviceaccount:ci:runner
  - system:serviceaccount:ci:cache-warmer
addresses:
  - 198.51.100.23
  - 203.0.113.80
secrets:
  - orders/db-credentials
  - orders/smtp-relay
  - orders/webhook-signing
  - catalog/search-key
left:
  - RoleBinding/orders/metrics-view
  - CronJob/catalog/index-refresh
YAML
# end
