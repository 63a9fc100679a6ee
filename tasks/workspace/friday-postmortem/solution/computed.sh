#!/usr/bin/env bash
# Minutes and orders by a program, causes by comparing the regions.
set -euo pipefail
cat > work.py <<'PY'
import csv, json, sys
from collections import defaultdict

answer = json.load(open("answer.json")) if "add" in sys.argv else {}
if "outage" in sys.argv:
    for region in ("eu1", "eu2", "eu3"):
        run = []
        for row in csv.DictReader(open(f"metrics/{region}.csv")):
            bad = int(row["failed"]) > 0.01 * int(row["requests"])
            if bad:
                run.append(row["minute"])
            if not bad:
                if len(run) >= 5:
                    answer["outage"] = {"region": region, "first_minute": run[0], "last_minute": run[-1]}
                run = []
if "orders" in sys.argv:
    paid, seen = defaultdict(float), set()
    for line in open("payments/captures.jsonl"):
        entry = json.loads(line)
        if entry["id"] in seen or entry["result"] == "declined":
            continue
        seen.add(entry["id"])
        paid[entry["order"]] += float(entry["amount"]) * (1 if entry["kind"] == "capture" else -1)
    costs = {row["order"]: float(row["total"]) for row in csv.DictReader(open("payments/orders.csv"))}
    answer["overcharged"] = sorted(order for order in paid if paid[order] > costs[order] + 0.005)
for word in sys.argv[1:]:
    if "=" in word:
        key, _, values = word.partition("=")
        answer[key] = values.split(",")
json.dump(answer, open("answer.json", "w"), indent=1)
PY
# fix: when it was
python3 work.py outage
# fix: eu2 has the release and holds, eu3 has the limit and holds, eu1 has both; all else somebody has without harm, or came later
python3 work.py add outage_causes=CH-2190,CH-2201
# fix: who paid too much
python3 work.py add orders
# fix: a second key for the same capture comes from 7.14.0 only, also where there was no outage
python3 work.py add overcharged_causes=CH-2206
# fix: it was not taken back there
python3 work.py add still_overcharging=eu2
# end
