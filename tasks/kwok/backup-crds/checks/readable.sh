#!/usr/bin/env bash
# An object that is stored in a version that is gone makes the whole list unreadable.
set -euo pipefail
kubectl get --raw /apis/backup.northwind.example/v1/backupplans >/dev/null
kubectl get --raw /apis/backup.northwind.example/v1/backuptargets >/dev/null
