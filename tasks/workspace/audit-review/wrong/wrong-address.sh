#!/usr/bin/env bash
# Take the auditors' office for the second address.
# breaks: addresses
set -euo pipefail
cat > incident.yaml <<'YAML'
identities:
  - system:serviceaccount:ci:runner
  - system:serviceaccount:ci:cache-warmer
addresses:
  - 198.51.100.23
  - 192.0.2.44
secrets:
  - orders/db-credentials
  - orders/smtp-relay
  - orders/webhook-signing
  - catalog/search-key
left:
  - RoleBinding/orders/metrics-view
  - CronJob/catalog/index-refresh
YAML
