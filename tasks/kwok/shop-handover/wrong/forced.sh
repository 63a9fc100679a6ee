#!/usr/bin/env bash
# What the message says.
# breaks: leftover-container, one-owner, pods-are-the-autoscalers, cart-manifest, desk-memory, floors, ...
# rung: first-obvious-fix
set -euo pipefail
cd shop-deploy
sed 's/--server-side/--server-side --force-conflicts/' ship.sh > forced.sh
bash forced.sh
kubectl -n shop set env deployment/checkout PAYMENT_TRACE-
sleep 5
