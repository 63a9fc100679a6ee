#!/usr/bin/env bash
# End the discussion.
# breaks: everybody-else, bot-no-more
set -euo pipefail
kubectl create clusterrolebinding release-bot --clusterrole=cluster-admin --serviceaccount=ci:release-bot
