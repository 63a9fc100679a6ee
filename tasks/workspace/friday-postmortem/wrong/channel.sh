#!/usr/bin/env bash
# What the channel says.
# breaks: outage, outage-causes, overcharged, still-overcharging
# rung: first-obvious-fix
set -euo pipefail
cat > answer.json <<'JSON'
{
 "outage": {
  "region": "eu1",
  "first_minute": "14:02",
  "last_minute": "14:22"
 },
 "outage_causes": [
  "CH-2206"
 ],
 "overcharged": [ "N-420003", "N-420057", "N-420132"
 ],
 "overcharged_causes": [
  "CH-2206"
 ],
 "still_overcharging": []
}
JSON
