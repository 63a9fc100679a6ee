#!/usr/bin/env bash
# Filter by identity in the first half: what was done in another's name is missed.
# breaks: secrets, left
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
left:
  - RoleBinding/orders/metrics-view
YAML
