#!/usr/bin/env bash
# Set the requests and go home: the rollout cannot start.
# breaks: four-replicas
set -euo pipefail
kubectl -n search set resources deployment indexer --requests cpu=205m,memory=225Mi
