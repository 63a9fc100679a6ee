#!/usr/bin/env bash
# Delete the budgets that are in the way. The only free node takes a moment, and one copy is missing meanwhile.
# rung: first-obvious-fix
# breaks: budgets-unchanged, three-copies
set -euo pipefail
kubectl cordon worker-3
kubectl -n shop delete pdb sessions coupons
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=20s || true
sleep 2
kubectl uncordon worker-3
