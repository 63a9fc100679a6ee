#!/usr/bin/env bash
# Everything that looks a little like a backup is one.
# breaks: other-files
set -euo pipefail
cd backup-tools
cat > bin/prune-backups <<'PY'
#!/usr/bin/env python3
"""Usage: prune-backups [--dry-run] DIR

Applies docs/RETENTION.md to the backups in DIR. With --dry-run it only prints what it would delete.
"""
import datetime
import os
import re
import sys

DAILY, WEEKLY, MONTHLY = 7, 4, 12
BACKUP = re.compile(r"(?P<name>.+)-(?P<date>\d{4}-\d{2}-\d{2})\.tar\.zst")


def newest_per(backups, period, count):
    """The newest backup of each of the `count` newest periods; `backups` come newest first."""
    found = {}
    for date, file in backups:
        found.setdefault(period(date), file)
    return set(list(found.values())[:count])


def to_delete(folder):
    databases = {}
    for entry in os.scandir(folder):
        match = BACKUP.match(entry.name)
        if not match or not entry.is_file(follow_symlinks=False):
            continue
        try:
            date = datetime.date.fromisoformat(match["date"])
        except ValueError:
            continue
        databases.setdefault(match["name"], []).append((date, entry))
    gone = []
    for backups in databases.values():
        backups.sort(key=lambda item: item[0], reverse=True)
        if backups[0][1].stat().st_size == 0:
            continue
        files = [(date, entry.name) for date, entry in backups]
        keep = {name for _, name in files[:DAILY]}
        keep |= newest_per(files, lambda date: date.isocalendar()[:2], WEEKLY)
        keep |= newest_per(files, lambda date: (date.year, date.month), MONTHLY)
        gone += [name for _, name in files if name not in keep]
    return sorted(gone)


def main(args):
    dry_run = args[:1] == ["--dry-run"]
    rest = args[1:] if dry_run else args
    if len(rest) != 1 or not os.path.isdir(rest[0]):
        print("usage: prune-backups [--dry-run] DIR", file=sys.stderr)
        return 2
    for name in to_delete(rest[0]):
        print(f"delete {name}")
        if not dry_run:
            os.remove(os.path.join(rest[0], name))
    return 0


sys.exit(main(sys.argv[1:]))
PY
git commit -qam "prune-backups: do what RETENTION.md says"
