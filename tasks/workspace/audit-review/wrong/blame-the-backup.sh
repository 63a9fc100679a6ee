#!/usr/bin/env bash
# Accuse the account that was acted as.
# breaks: identities-only
set -euo pipefail
cat > incident.yaml <<'YAML'
identities:
  - system:serviceaccount:ci:runner
  - system:serviceaccount:ci:cache-warmer
  - system:serviceaccount:ops:backup
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
