#!/usr/bin/env bash
# Copies by hand; the job will undo them tonight.
# breaks: repository-owner, repository-credential
# rung: honest-partial
set -euo pipefail
for ns in orders catalog returns; do
  kubectl -n registry get secret registry-pull -o json | sed -e '/"uid":/d; /"resourceVersion":/d; /"creationTimestamp":/d; s/"namespace": "registry"/"namespace": "'$ns'"/' | kubectl apply -f -
  kubectl -n $ns label secret registry-pull app.kubernetes.io/part-of=registry-credentials
done
