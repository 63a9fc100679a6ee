#!/usr/bin/env bash
# Fix the files, apply them, enforce, commit, report.
set -euo pipefail
cd cluster-config
# fix: session-cache does not need privileged mode
sed -i 's/privileged: true/privileged: false/' teams/checkout/session-cache.yaml
kubectl apply -f teams/checkout/session-cache.yaml
# fix: the log shipper beside worker has no limits
sed -i '/log-shipper/,$ s|requests: {cpu: 100m, memory: 128Mi}|&\n            limits: {cpu: 500m, memory: 256Mi}|' teams/checkout/worker.yaml
kubectl apply -f teams/checkout/worker.yaml
# fix: indexer has a privileged init container
sed -i 's/privileged: true/privileged: false/' teams/catalog/indexer.yaml
kubectl apply -f teams/catalog/indexer.yaml
# fix: indexer has no CPU limit
sed -i 's/limits: {memory: 256Mi}/limits: {cpu: 500m, memory: 256Mi}/' teams/catalog/indexer.yaml
kubectl apply -f teams/catalog/indexer.yaml
# fix: exporter does not need privileged mode
sed -i 's/privileged: true/privileged: false/' teams/ledger/exporter.yaml
kubectl apply -f teams/ledger/exporter.yaml
# fix: statement-render is switched off, but would be rejected when it comes back
sed -i 's|requests: {cpu: 100m, memory: 128Mi}|&\n            limits: {cpu: 500m, memory: 256Mi}|' teams/ledger/statement-render.yaml
kubectl apply -f teams/ledger/statement-render.yaml
# fix: enforce the privilege policy
sed -i 's/\[Audit\]/[Deny]/' policies/workload-privilege-binding.yaml
kubectl apply -f policies/workload-privilege-binding.yaml
# fix: enforce the limits policy
sed -i 's/\[Audit\]/[Deny]/' policies/workload-limits-binding.yaml
kubectl apply -f policies/workload-limits-binding.yaml
# fix: make it last beyond the nightly sync
git commit -qam "Comply with the workload policies and enforce them"
# fix: report
cat > ../report.md <<'REPORT'
checkout/session-cache: ran privileged
checkout/worker: container log-shipper had no limits
catalog/indexer: privileged init container, no CPU limit
ledger/exporter: ran privileged
ledger/statement-render: no limits (no pods at the moment)
REPORT
# end
