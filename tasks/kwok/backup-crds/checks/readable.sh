#!/usr/bin/env bash
# An object that is stored in a version that is gone makes the whole list unreadable. With a limit the answer comes at
# once; without, a list that cannot be read is "initializing", and kubectl tries again for half a minute.
set -euo pipefail
kubectl get --raw "/apis/backup.northwind.example/v1/backupplans?limit=500" >/dev/null
kubectl get --raw "/apis/backup.northwind.example/v1/backuptargets?limit=500" >/dev/null
