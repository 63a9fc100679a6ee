#!/usr/bin/env bash
# The name replaced in all deployments, and the key deleted.
# breaks: nothing-running, nothing-to-come, introspect-reads
# rung: first-obvious-fix
set -euo pipefail
kubectl -n identity get deployment -o yaml | sed '/resourceVersion:/d; s/token-signing-2025-09/token-signing-2026-03/g' | kubectl replace -f -
kubectl -n identity rollout status deployment/login --timeout=40s || true
kubectl -n identity rollout status deployment/sessions --timeout=40s || true
kubectl -n identity rollout status deployment/mailer --timeout=40s || true
kubectl -n identity rollout status deployment/introspect --timeout=40s || true
kubectl -n identity delete secret token-signing-2025-09
