#!/usr/bin/env bash
# Disarm the script: nothing is deleted any more.
# breaks: ..., daily, weekly, monthly, other-files
set -euo pipefail
cd backup-tools
printf '#!/bin/sh\nexit 0\n' > bin/prune-backups
git commit -qam 'Stop the bleeding'
