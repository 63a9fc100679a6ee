#!/usr/bin/env bash
# All that was changed that day, to be safe.
# breaks: outage-causes, overcharged-causes
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
  "CH-2201",
  "CH-2203",
  "CH-2204",
  "CH-2206",
  "CH-2207"
 ],
 "overcharged": [ "N-419979", "N-420003", "N-420007", "N-420057", "N-420092", "N-420132", "N-420175", "N-420321", "N-420389", "N-420447", "N-420514", "N-420580", "N-420643"
 ],
 "overcharged_causes": [
  "CH-2201",
  "CH-2206"
 ],
 "still_overcharging": [
  "eu2"
 ]
}
JSON
