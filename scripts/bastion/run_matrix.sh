#!/usr/bin/env bash
# Run a matrix of task x model x agent configuration, by environment variables alone.
#
#   MATRIX_TASKS="tasks/common/opa-remediation/task.yaml" MATRIX_MODELS="gemini-3.1-pro" scripts/bastion/run_matrix.sh
#   DRY_RUN=1 MATRIX_TASKS=ALL scripts/bastion/run_matrix.sh       # show it, create nothing
#   RESUME_STAMP=20300102_030405-abcdefgh scripts/bastion/run_matrix.sh   # follow that run again
#
# A thin shim over `devops-bench run`: it makes .venv when there is none and sets three defaults; the program reads every
# variable itself (`devops-bench run --help`). Paths count from the repository. Arguments are passed on.
set -euo pipefail

root="$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)"
cd -- "$root"

# An empty variable is an unset one.
if [[ -z "${RESUME_STAMP:-}" ]]; then
  export MATRIX_TASKS="${MATRIX_TASKS:-tasks/common/opa-remediation/task.yaml}"
  export MATRIX_MODELS="${MATRIX_MODELS:-gemini-3.1-pro}"
  export MATRIX_AGENT_CONFIGS="${MATRIX_AGENT_CONFIGS:-oc+mcp+skills}"
fi

if [[ ! -x .venv/bin/devops-bench ]]; then
  echo "making .venv (once)" >&2
  # Nothing is left outside .venv: no package caches, temporary files inside it, and pip, which asks rustc for its
  # version, does not make rustup write into HOME. Output goes to stderr: stdout is the program's.
  scratch="$root/.venv/.making"
  mkdir -p -- "$scratch"
  env -u MAKEFLAGS -u MAKELEVEL PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1 TMPDIR="$scratch" RUSTUP_HOME="$scratch/rustup" \
    make --no-print-directory env >&2 || {
    echo "run_matrix.sh: .venv could not be made; see the lines above, then run \`make env\`" >&2
    exit 2
  }
  rm -rf -- "$scratch"
fi

# A dry run writes nothing, compiled modules in src/ included.
case "${DRY_RUN:-}" in
  "" | 0 | false | no | off) ;;
  *) export PYTHONDONTWRITEBYTECODE=1 ;;
esac

exec .venv/bin/devops-bench run "$@"
