#!/usr/bin/env bash
# Double charges where the outage was.
# breaks: overcharged
set -euo pipefail
cat > answer.json <<'JSON'
{
 "outage": {
  "region": "eu1",
  "first_minute": "13:57",
  "last_minute": "14:21"
 },
 "outage_causes": [
  "CH-2190",
  "CH-2201"
 ],
 "overcharged": [ "N-420003", "N-420057", "N-420132"
 ],
 "overcharged_causes": [
  "CH-2206"
 ],
 "still_overcharging": [
  "eu2"
 ]
}
JSON
