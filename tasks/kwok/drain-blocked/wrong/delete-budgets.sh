#!/usr/bin/env bash
# Delete the budgets that are in the way.
# breaks: complete, budgets-unchanged, three-copies
set -euo pipefail
kubectl -n shop delete pdb sessions coupons
kubectl -n shop patch deployment sessions --type merge -p '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":30}}}}' >/dev/null
kubectl cordon worker-1
kubectl cordon worker-3
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
kubectl uncordon worker-3
