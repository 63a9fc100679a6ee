#!/usr/bin/env bash
# The second identity and not the first.
# breaks: identities
set -euo pipefail
cat > incident.yaml <<'YAML'
identities:
  - system:serviceaccount:ci:cache-warmer
  - system:serviceaccount:ci:default
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
