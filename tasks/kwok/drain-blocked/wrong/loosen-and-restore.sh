#!/usr/bin/env bash
# Loosen the budgets for the drain and put the numbers back.
# breaks: budgets-unchanged
set -euo pipefail
kubectl -n shop scale deployment sessions --replicas=4
kubectl -n shop rollout status deployment/sessions --timeout=60s
kubectl -n shop patch pdb coupons --type merge -p '{"spec":{"minAvailable":0}}'
sleep 0.5
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
kubectl -n shop patch pdb coupons --type merge -p '{"spec":{"minAvailable":1}}'
kubectl -n shop scale deployment sessions --replicas=3
