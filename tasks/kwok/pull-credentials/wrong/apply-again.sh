#!/usr/bin/env bash
# Apply the copies once more.
# breaks: copies-stay, current-credential, found-again, repository-owner, repository-credential
# rung: first-obvious-fix
set -euo pipefail
kubectl apply -f registry-credentials/copies/
sleep 2
