#!/usr/bin/env bash
# Ask for three.
# breaks: four-replicas, sized
set -euo pipefail
kubectl -n search scale deployment indexer --replicas=3
