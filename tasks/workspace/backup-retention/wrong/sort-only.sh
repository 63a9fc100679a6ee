#!/usr/bin/env bash
# Fix only what the postmortem names first: take the order from the names.
# rung: first-obvious-fix
# breaks: ..., weekly, monthly, dry-run
set -euo pipefail
cd backup-tools
sed -i 's/ls -t $DIR/ls -r $DIR/' bin/prune-backups
git commit -qam 'Do not look at mtime'
