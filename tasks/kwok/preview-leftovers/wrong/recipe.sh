#!/usr/bin/env bash
# The recipe from the internet.
# breaks: nothing-left, given-back, next-one
# rung: first-obvious-fix
set -euo pipefail
for name in preview-398 preview-405 preview-412; do
  kubectl get namespace $name -o yaml | sed -e '/^spec:/,/^status:/{/^status:/!d}' -e '/^  resourceVersion:/d' > $name.yaml
  kubectl create --dry-run=client -f $name.yaml -o json > $name.json
  kubectl replace --raw /api/v1/namespaces/$name/finalize -f $name.json >/dev/null
done
