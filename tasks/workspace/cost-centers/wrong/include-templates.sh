#!/usr/bin/env bash
# As the region is done in prod-eu: no selectors, but templates.
# breaks: custom-pods, own, accepted
# rung: first-obvious-fix
set -euo pipefail
cd storefront-deploy
sed -i 's/^      region: eu$/&\n      cost-center: cc-4711/' overlays/prod-eu/kustomization.yaml
printf 'labels:\n  - pairs:\n      cost-center: cc-4712\n    includeTemplates: true\n' >> overlays/prod-us/kustomization.yaml
git commit -qam "FIN-882 cost centers of production"
