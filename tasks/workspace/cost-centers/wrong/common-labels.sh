#!/usr/bin/env bash
# One line where the other labels are.
# breaks: custom-pods, own, selectors, accepted, ...
set -euo pipefail
cd storefront-deploy
sed -i 's/^  region: us$/&\n  cost-center: cc-4712/' overlays/prod-us/kustomization.yaml
printf 'commonLabels:\n  cost-center: cc-4711\n' >> overlays/prod-eu/kustomization.yaml
git commit -qam "FIN-882 cost centers of production"
