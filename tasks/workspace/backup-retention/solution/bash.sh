#!/usr/bin/env bash
# Kept in bash: one pass over the names of each database, newest first.
set -euo pipefail
cd backup-tools
# fix: the script
cat > bin/prune-backups <<'SH'
#!/usr/bin/env bash
# Usage: prune-backups [--dry-run] DIR
# Applies docs/RETENTION.md to the backups in DIR. With --dry-run it only prints what it would delete.
set -euo pipefail
export LC_ALL=C

dry_run=no
if [ "${1-}" = "--dry-run" ]; then
  dry_run=yes
  shift
fi
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
  echo "usage: prune-backups [--dry-run] DIR" >&2
  exit 2
fi
cd -- "$1"

# DATABASE<tab>DATE<tab>ISO WEEK of every backup, newest first within a database
list() {
  local file name day week
  for file in *-????-??-??.tar.zst; do
    [ -f "$file" ] && [ ! -L "$file" ] || continue
    [[ $file =~ ^(.+)-([0-9]{4}-[0-9]{2}-[0-9]{2})\.tar\.zst$ ]] || continue
    name=${BASH_REMATCH[1]} day=${BASH_REMATCH[2]}
    week=$(date -d "$day" +%G-%V 2>/dev/null) || continue
    printf '%s\t%s\t%s\n' "$name" "$day" "$week"
  done | sort -t $'\t' -k1,1 -k2,2r
}

doomed() {
  local current='' name day week daily=0 weekly=0 monthly=0 last_week='' last_month='' keep broken=no
  while IFS=$'\t' read -r name day week; do
    if [ "$name" != "$current" ]; then
      current=$name daily=0 weekly=0 monthly=0 last_week='' last_month='' broken=no
      [ -s "$name-$day.tar.zst" ] || broken=yes
    fi
    keep=$broken
    daily=$((daily + 1))
    [ "$daily" -le 7 ] && keep=yes
    if [ "$week" != "$last_week" ]; then
      last_week=$week weekly=$((weekly + 1))
      [ "$weekly" -le 4 ] && keep=yes
    fi
    if [ "${day%-*}" != "$last_month" ]; then
      last_month=${day%-*} monthly=$((monthly + 1))
      [ "$monthly" -le 12 ] && keep=yes
    fi
    [ "$keep" = yes ] || printf '%s-%s.tar.zst\n' "$name" "$day"
  done
}

list | doomed | sort | while IFS= read -r file; do
  echo "delete $file"
  [ "$dry_run" = yes ] || rm -f -- "./$file"
done
SH
# fix: on main
git commit -qam "Rework retention"
# end
