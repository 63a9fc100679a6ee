#!/usr/bin/env bash
# Whatever came from outside and was granted; lists are opened by the inventory.
set -euo pipefail
outside() { cat audit/*.jsonl | grep '"username":"system:serviceaccount' | grep -v '"sourceIPs":\["10\.' ; }
granted() { outside | grep -E '"code":20[01]' ; }
# fix: who, and from where
echo identities: > incident.yaml
outside | grep -oP '"user":\{"username":"\K[^"]+' | sort -u | sed 's/^/  - /' >> incident.yaml
echo addresses: >> incident.yaml
outside | grep -oP '"sourceIPs":\["\K[^"]+' | sort -u | sed 's/^/  - /' >> incident.yaml
# fix: what was read
echo secrets: >> incident.yaml
{
  granted | grep '"verb":"list"' | grep '"resource":"secrets"' | grep -oP '"namespace":"\K[^"]+' | sort -u |
    while read -r ns; do grep "^$ns," inventory/secrets.csv | cut -d, -f1,2 | tr , /; done
  granted | grep '"verb":"get"' | grep '"resource":"secrets"' | grep -oP '"namespace":"\K[^"]+","name":"[^"]+' | sed 's/","name":"/\//'
} | sort -u | sed 's/^/  - /' >> incident.yaml
# fix: what is still there
echo left: >> incident.yaml
granted | grep '"verb":"create"' | grep -v dryRun | grep -oP '"resource":"(rolebindings|cronjobs)","namespace":"[^"]+","name":"[^"]+' |
  sed -E 's/"resource":"rolebindings"/RoleBinding/; s/"resource":"cronjobs"/CronJob/; s/","?namespace":"|,"namespace":"/\//; s/","name":"/\//' | sed 's/^/  - /' >> incident.yaml
# end
