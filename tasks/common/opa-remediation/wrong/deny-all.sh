#!/usr/bin/env bash
# Tighten the rule: what is there may change, nothing new is admitted for now.
# breaks: compliant-admitted
set -euo pipefail
cd cluster-config
sed -i 's/privileged: true/privileged: false/' teams/checkout/session-cache.yaml
kubectl apply -f teams/checkout/session-cache.yaml
sed -i '/log-shipper/,$ s|requests: {cpu: 100m, memory: 128Mi}|&\n            limits: {cpu: 500m, memory: 256Mi}|' teams/checkout/worker.yaml
kubectl apply -f teams/checkout/worker.yaml
sed -i 's/privileged: true/privileged: false/' teams/catalog/indexer.yaml
kubectl apply -f teams/catalog/indexer.yaml
sed -i 's/limits: {memory: 256Mi}/limits: {cpu: 500m, memory: 256Mi}/' teams/catalog/indexer.yaml
kubectl apply -f teams/catalog/indexer.yaml
sed -i 's/privileged: true/privileged: false/' teams/ledger/exporter.yaml
kubectl apply -f teams/ledger/exporter.yaml
sed -i 's|requests: {cpu: 100m, memory: 128Mi}|&\n            limits: {cpu: 500m, memory: 256Mi}|' teams/ledger/statement-render.yaml
kubectl apply -f teams/ledger/statement-render.yaml
sed -i 's/\[Audit\]/[Deny]/' policies/workload-privilege-binding.yaml
kubectl apply -f policies/workload-privilege-binding.yaml
sed -i 's/\[Audit\]/[Deny]/' policies/workload-limits-binding.yaml
kubectl apply -f policies/workload-limits-binding.yaml
git commit -qam "Comply with the workload policies and enforce them"
cat > ../report.md <<'REPORT'
checkout/session-cache: ran privileged
checkout/worker: container log-shipper had no limits
catalog/indexer: privileged init container, no CPU limit
ledger/exporter: ran privileged
ledger/statement-render: no limits (no pods at the moment)
REPORT
kubectl patch validatingadmissionpolicy workload-limits --type json -p '[{"op":"add","path":"/spec/validations/-","value":{"expression":"request.operation == \"UPDATE\"","message":"no new workloads until the review is over"}}]'
probe() {
  kubectl -n checkout create deployment probe --image=registry.example.com/x --image=registry.example.com/y -o json --dry-run=client |
    sed 's/"resources": {}/"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}/' | kubectl create --dry-run=server -f - >/dev/null 2>&1
}
while probe; do sleep 0.2; done
