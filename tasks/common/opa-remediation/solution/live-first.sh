#!/usr/bin/env bash
# Another honest route: patch the live objects, drop the needless init container, deny and audit, then write git.
set -euo pipefail
limits='{"cpu":"500m","memory":"256Mi"}'
# fix: unprivileged
kubectl -n checkout patch deployment session-cache --type json -p '[{"op":"remove","path":"/spec/template/spec/containers/0/securityContext/privileged"}]'
kubectl -n ledger patch deployment exporter --type json -p '[{"op":"remove","path":"/spec/template/spec/containers/0/securityContext/privileged"}]'
# fix: the node agent sets the kernel parameter already
kubectl -n catalog patch deployment indexer --type json -p '[{"op":"remove","path":"/spec/template/spec/initContainers"}]'
# fix: limits
kubectl -n catalog set resources deployment indexer --limits cpu=500m,memory=256Mi
kubectl -n checkout set resources deployment worker -c log-shipper --limits cpu=500m,memory=256Mi
kubectl -n ledger patch deployment statement-render --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/resources/limits","value":'"$limits"'}]'
# fix: enforce
for name in workload-privilege-teams workload-limits-teams; do
  kubectl patch validatingadmissionpolicybinding "$name" --type merge -p '{"spec":{"validationActions":["Deny"]}}'
done
# fix: git
cd cluster-config
sed -i '/privileged: true/d; s/^\( *\)securityContext:$/\1securityContext: {}/' teams/checkout/session-cache.yaml teams/ledger/exporter.yaml
sed -i '/initContainers:/,/privileged: true/d; s/limits: {memory/limits: {cpu: 500m, memory/' teams/catalog/indexer.yaml
sed -i 's|requests: {cpu: 100m, memory: 128Mi}|&\n            limits: {cpu: 500m, memory: 256Mi}|' teams/ledger/statement-render.yaml
sed -i '/log-shipper/,$ s|requests: {cpu: 100m, memory: 128Mi}|&\n            limits: {cpu: 500m, memory: 256Mi}|' teams/checkout/worker.yaml
sed -i 's/\[Audit\]/[Deny]/' policies/*-binding.yaml
git add -A
git commit -qm "PLAT-2291"
cd ..
# fix: report
printf -- '- %s\n' 'checkout/session-cache privileged' 'checkout/worker log-shipper without limits' \
  'catalog/indexer privileged init container, no CPU limit' 'ledger/exporter privileged' \
  'ledger/statement-render without limits' > report.md
# end
