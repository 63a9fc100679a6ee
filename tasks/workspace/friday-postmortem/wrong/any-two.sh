#!/usr/bin/env bash
# Everybody with two captures.
# breaks: overcharged-only
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
 "overcharged": [ "N-419979", "N-420003", "N-420007", "N-420057", "N-420092", "N-420132", "N-420175", "N-420321", "N-420389", "N-420447", "N-420514", "N-420580", "N-420643", "N-418800", "N-419098", "N-419583", "N-420022", "N-420045", "N-420212", "N-420349", "N-420533", "N-420077", "N-420252"
 ],
 "overcharged_causes": [
  "CH-2206"
 ],
 "still_overcharging": [
  "eu2"
 ]
}
JSON
