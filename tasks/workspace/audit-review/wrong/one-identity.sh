#!/usr/bin/env bash
# Follow the first identity only.
# breaks: identities, addresses, secrets
# rung: first-obvious-fix
set -euo pipefail
cat > incident.yaml <<'YAML'
identities:
  - system:serviceaccount:ci:runner
addresses:
  - 198.51.100.23
secrets:
  - catalog/search-key
left:
  - RoleBinding/orders/metrics-view
  - CronJob/catalog/index-refresh
YAML
