#!/usr/bin/env bash
# Which priority level serves a request of somebody, by the headers of the answer. Requests that would write are dry runs.

uids=$(kubectl get prioritylevelconfigurations -o jsonpath='{range .items[*]}{.metadata.uid} {.metadata.name}{"\n"}{end}')
nothing=$(mktemp)
failures=$(mktemp)
trap 'rm -f "$nothing" "$failures"' EXIT
echo '{}' > "$nothing"

# Level of the first answer; "refused" when the level has no room. Arguments: those of kubectl.
level() {
  local answer
  answer=$(kubectl "$@" -v=8 2>&1 | awk '
    /"Response" / && / status="429/ { print "refused"; exit }
    tolower($1) == "x-kubernetes-pf-prioritylevel-uid:" { print $2; exit }') || true
  [ "$answer" = refused ] && echo refused && return
  echo "$uids" | awk -v uid="$answer" '$1 == uid { print $2 }'
}

# Arguments: the level that is meant, then what follows.
expect() {
  local meant=$1 found
  shift
  found=$(level "$@")
  [ "$found" = "$meant" ] || echo "$*: served by ${found:-nobody}, not by $meant" >> "$failures"
}

reads() { expect "$2" get --raw "$3" --as="system:serviceaccount:$1" & }
creates() { expect "$2" create --raw "$3?dryRun=All" -f "$nothing" --as="system:serviceaccount:$1" & }
updates() { expect "$2" replace --raw "$3?dryRun=All" -f "$nothing" --as="system:serviceaccount:$1" & }

verdict() {
  wait
  [ ! -s "$failures" ] || { head -n 1 "$failures"; exit 1; }
}
