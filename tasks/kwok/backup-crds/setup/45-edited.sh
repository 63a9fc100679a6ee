#!/usr/bin/env bash
# One plan of the first days was edited later, by the new name.
set -euo pipefail
kubectl -n identity patch backupplans.v1.backup.northwind.example users-db --type merge -p '{"spec":{"retention":"60d"}}' >/dev/null
