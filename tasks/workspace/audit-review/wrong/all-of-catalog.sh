#!/usr/bin/env bash
# One Secret of catalog was read: name them all.
# breaks: secrets-only
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
  - orders/smtp-relay
  - orders/webhook-signing
  - catalog/search-key
  - catalog/catalog-tls
left:
  - RoleBinding/orders/metrics-view
  - CronJob/catalog/index-refresh
YAML
