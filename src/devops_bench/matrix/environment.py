"""The environment of one combo, from the plan: values that may be shown, and secrets by name only.

`DRY_RUN` prints it; the combo command reads the same variables when somebody runs one combo by hand.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devops_bench.matrix.plan import Combo, PlanOptions
from devops_bench.matrix.secrets import KEY_NAMES, VERTEX_MARKER
from devops_bench.matrix.values import absolute_paths
from devops_bench.redact import is_secret_name

PLANNED = frozenset({"AGENT_RULES_TEXT", "AGENT_ALLOWED_TOOLS"})


@dataclass(frozen=True, slots=True)
class ComboEnvironment:
    """`values` may be shown; `secrets` are names of variables that the combo also gets."""

    values: Mapping[str, str]
    secrets: tuple[str, ...]


def combo_environment(options: PlanOptions, combo: Combo, env: Mapping[str, str]) -> ComboEnvironment:
    """What `combo` sees beside its host's ordinary environment. `env` tells which secrets are there. Pure."""
    values = dict(options.env)
    values |= {
        "RUN_ID": combo.rid,
        "BENCH_AGENT_TYPE": combo.config.agent,
        "AGENT_MODEL": combo.model,
        "AGENT_TIMEOUT_SEC": f"{options.agent_timeout_sec:g}",
        "AGENT_MAX_TURNS": str(options.agent_max_turns),
        "BENCH_USE_MCP": "1" if combo.config.mcp else "0",
        "BENCH_AGENT_SANDBOX": "bwrap" if options.sandbox else "0",
        "CLUSTER_NAME": combo.cluster_name,
        "INFRA_PROVIDER": combo.provider,
        "GCP_LOCATION": options.location,
    }
    optional = {
        "AGENT_PROVIDER": options.agent_provider,
        "AGENT_EXTRA_FLAGS": shlex.join(options.agent_extra_flags),
        "AGENT_MCP_SERVER": shlex.join(options.mcp_server) if combo.config.mcp else "",
        "AGENT_SKILLS_PATHS": ",".join(options.skills_paths) if combo.config.skills else "",
        "BENCH_SCENARIOS_DIR": options.scenarios_dir,
        "BENCH_NO_TEARDOWN": "1" if options.no_teardown else "",
        "JUDGE_MODEL": options.judge_model,
        "JUDGE_PROVIDER": options.judge_provider,
        "PROJECT_ID": options.project,
    }
    values |= {name: text for name, text in optional.items() if text}
    # A marker that client libraries insist on is no secret; anything else with such a name is never shown.
    shown = {name: text for name, text in values.items() if not is_secret_name(name) or text == VERTEX_MARKER}
    dropped = frozenset(KEY_NAMES) if options.vertex else frozenset()
    secrets = {name for name in KEY_NAMES if env.get(name, "").strip()} - dropped
    return ComboEnvironment(dict(sorted(shown.items())), tuple(sorted(secrets)))


def sandbox_environment(options: PlanOptions, env: Mapping[str, str]) -> dict[str, str]:
    """`env` with the plan's word on the sandbox instead of its own: a run that goes on elsewhere must not lose it."""
    asked = options.env.get("BENCH_AGENT_SANDBOX", "") if options.sandbox else "off"
    return {**env, "BENCH_AGENT_SANDBOX": asked}


def launch_environment(options: PlanOptions, env: Mapping[str, str], cwd: Path | None = None) -> dict[str, str]:
    """`env` as the supervisor and its combos get it: the plan's own variables set, paths absolute (from `cwd`, by
    default where the launch was typed), keys dropped where told.
    """
    dropped = frozenset(KEY_NAMES) if options.vertex else frozenset()
    # What agents are told and may call is the plan's alone: a run that goes on elsewhere must not change them.
    kept = {name: text for name, text in env.items() if name not in dropped and name not in PLANNED}
    return kept | absolute_paths(env, cwd or Path.cwd()) | dict(options.env)
