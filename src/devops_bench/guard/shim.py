"""The shims on an agent's PATH, as text: ask the gate about a command, then become the real tool or say why not.

A shim is a few lines for /bin/sh, so that what only looks costs one start of a small shell. Everything else goes to one
bash script, which sends the arguments, the folder, the variables that matter and the kubeconfigs that the tool would
read; the decision is made outside. Nothing else is needed inside: no Python, no curl.
"""

from __future__ import annotations

import shlex

from devops_bench.guard.reading import READING

VERSION = "1"
BLOCKED = 126
ASK_NAME = ".ask"
VARIABLES = (
    "KUBECONFIG",
    "HELM_KUBECONTEXT",
    "HELM_KUBEAPISERVER",
    "KIND_CLUSTER_NAME",
    "TF_CLI_ARGS",
    "TF_CLI_ARGS_apply",
    "TF_CLI_ARGS_destroy",
)

ASK = rf"""#!/bin/bash
tool=$1 real=$2 host=$3 port=$4; shift 4
set -f
variables=() files=() configs=() next=
for name in {" ".join(VARIABLES)}; do
  [[ -v $name ]] && variables+=("$name=${{!name}}")
done
case $tool in kubectl|helm)
  for word; do
    if [[ $next ]]; then files+=("$word") next=
    elif [[ $word == --kubeconfig ]]; then next=1
    elif [[ $word == --kubeconfig=* ]]; then files+=("${{word#*=}}")
    fi
  done
  if (( ${{#files[@]}} == 0 )); then
    old=$IFS IFS=:
    files=(${{KUBECONFIG:-$HOME/.kube/config}})
    IFS=$old
  fi
  for file in "${{files[@]}}"; do
    text=
    [[ -f $file && -r $file ]] && IFS= read -r -d '' -n 270000 text <"$file"
    configs+=("$file" "$text")
  done
esac
if ! {{ exec {{link}}<>"/dev/tcp/$host/$port"; }} 2>/dev/null; then
  printf '%s: this command could not be checked and was not run\n' "$tool" >&2
  exit {BLOCKED}
fi
trap : PIPE  # a gate that hangs up; the tool itself starts with the default again
here=$PWD
[[ $tool == t* ]] && here=$(pwd -P)  # where infrastructure code acts; a link must not hide it
printf '%s\0' {VERSION} "$tool" "$here" "$#" "$@" "${{#variables[@]}}" "${{variables[@]}}" \
  "$(( ${{#configs[@]}} / 2 ))" "${{configs[@]}}" 2>/dev/null >&"$link"
IFS= read -r -d '' -u "$link" verdict 2>/dev/null
if [[ $verdict == ok ]]; then
  exec {{link}}>&-
  exec "$real" "$@"
fi
IFS= read -r -d '' -u "$link" text 2>/dev/null
printf '%s\n' "${{text:-$tool: this command could not be checked and was not run}}" >&2
exit {BLOCKED}
"""


def shim(tool: str, real: str, ask: str, host: str, port: int) -> str:
    """The shim of one tool. `real` and `ask` are paths as the agent's shell sees them."""
    looking = "|".join(sorted(READING.get(tool, ())))
    run = shlex.quote(real)
    through = f'case "$1" in {looking}) exec {run} "$@" ;; esac\n' if looking else ""
    words = " ".join(shlex.quote(word) for word in (ask, tool, real, host, str(port)))
    return f'#!/bin/sh\n{through}exec /bin/bash {words} "$@"\n'
