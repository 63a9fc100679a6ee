#!/usr/bin/env bash
# Put the node back into a zone that has others.
# breaks: zones-unchanged
set -euo pipefail
kubectl label node accelerated-0 topology.kubernetes.io/zone=europe-west1-c --overwrite
kubectl -n shop rollout status deployment/frontend --timeout=25s || true
kubectl -n shop rollout status deployment/webhooks --timeout=25s || true
