"""All defaults in one table, each with its unit and reason, and the enums that outside tools may rely on.

Nothing else in the program holds a magic number of policy. A default that an environment variable can change names it;
`value(NAME, env)` reads and checks it and raises ConfigError with one line when it is malformed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from devops_bench.errors import ConfigError


class ComboState(StrEnum):
    """States of a combo, as in the journal and `status --json`."""

    PLANNED = "planned"
    WAITING = "waiting"
    RUNNING = "running"
    SCORED = "scored"
    FAILED = "failed"
    INVALID = "invalid"
    STOPPED = "stopped"

    @property
    def terminal(self) -> bool:
        """True when nothing more will happen to it in this run by itself."""
        return self in {ComboState.SCORED, ComboState.FAILED, ComboState.INVALID, ComboState.STOPPED}


# With a verdict on the agent.
JUDGED = frozenset({ComboState.SCORED, ComboState.FAILED})


class Phase(StrEnum):
    """Phases of an attempt, in order."""

    PREFLIGHT = "preflight"
    PROVISION = "provision"
    SETUP = "setup"
    NEGATIVE_CHECK = "negative-check"
    AGENT = "agent"
    VERIFY = "verify"
    JUDGE = "judge"
    TEARDOWN = "teardown"
    RECORD = "record"


class FailureClass(StrEnum):
    """Why an attempt could not be judged. Frozen: `status --json` and the router use the same words."""

    INFRA = "infra"
    CONFIG_AUTH = "config-auth"
    SETUP = "setup"
    MODEL = "model"
    HARNESS = "harness"
    TASK = "task"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Default:
    """One row of the table. `env` is the variable that changes it, if any."""

    value: float
    unit: str
    why: str
    env: str | None = None
    minimum: float = 0
    integer: bool = True


# Cores that one running agent wants, by canonical key. Start-up of OpenClaw alone takes 17 to 19 CPU-seconds: with more
# than one for two cores their time limits decide the scores.
CORES_EACH: Mapping[str, float] = {"openclaw": 2.0}

TABLE: dict[str, Default] = {
    "max_parallel": Default(3, "combos", "fits 2-4 cores; each kwok plane takes 300-460 MB", "MAX_PARALLEL", 1),
    "agent_timeout_matrix": Default(1200, "s", "contract: one agent run in a matrix", "AGENT_TIMEOUT_SEC", 1, False),
    "agent_timeout_bare": Default(
        600, "s", "contract: one agent run by the combo command", "AGENT_TIMEOUT_SEC", 1, False
    ),
    "agent_max_turns": Default(100, "turns", "a loop that needs more is lost", "AGENT_MAX_TURNS", 1),
    "combo_overhead": Default(
        1500,
        "s",
        "wall clock of a combo beyond its agent: 600 s verification, cluster, setup, teardown",
        "BENCH_COMBO_OVERHEAD_SEC",
        1,
        False,
    ),
    "stall": Default(900, "s", "no event, log byte or CPU time for so long is a hang", "BENCH_STALL_SEC", 1, False),
    "agent_output_cap": Default(16 << 20, "bytes", "one agent's log and one tool result must not fill the disk"),
    "tool_result_cap": Default(64 << 10, "bytes", "what a model sees of one tool result"),
    "model_idle": Default(
        300,
        "s",
        "a provider that sends nothing for so long hangs; models may think",
        "BENCH_MODEL_IDLE_SEC",
        0.1,
        False,
    ),
    "model_connect": Default(
        5, "s", "a provider that cannot be reached is noticed", "BENCH_MODEL_CONNECT_SEC", 0.1, False
    ),
    "model_wait": Default(
        60,
        "s",
        "all waits of one attempt for a rate limit; longer ones are the supervisor's",
        "BENCH_MODEL_WAIT_SEC",
        0,
        False,
    ),
    "attempt_tokens": Default(
        0, "tokens", "all model requests of one attempt together; 0: no limit", "BENCH_ATTEMPT_MAX_TOKENS", 0
    ),
    "attempt_cost": Default(
        0, "USD", "all model requests of one attempt together; 0: no limit", "BENCH_ATTEMPT_MAX_USD", 0, False
    ),
    "model_record": Default(64 << 20, "bytes", "recorded requests and replies of one attempt"),
    "model_record_body": Default(1 << 20, "bytes", "one recorded request or reply"),
    "poll_timeout": Default(
        86400, "s", "contract: the follower gives up, the run goes on", "MATRIX_POLL_TIMEOUT_SEC", 0, False
    ),
    "converge_budget": Default(120, "s", "contract: per converge entry"),
    "verify_budget": Default(600, "s", "contract: all entries together"),
    "quiescence": Default(3, "s", "nothing but leases changed for so long: waiting longer cannot help"),
    "hold_interval": Default(
        5, "s", "contract: between samples of a hold entry", "BENCH_HOLD_INTERVAL_SEC", 0.1, False
    ),
    "plane_ready_timeout": Default(
        90, "s", "10x a slow cold start of a control plane", "BENCH_PLANE_READY_SEC", 1, False
    ),
    "plane_memory": Default(480 << 20, "bytes", "what one control plane may take: 300 MB idle, 370-460 at work"),
    "memory_reserve": Default(1 << 30, "bytes", "left to the host beside all planes and agents"),
    "pool_size": Default(2, "planes", "booted ahead; on 2 cores more only competes with combos", "BENCH_POOL_SIZE", 0),
    "setup_timeout": Default(120, "s", "a task's setup", "BENCH_SETUP_TIMEOUT_SEC", 1, False),
    "script_timeout": Default(300, "s", "one solution or wrong script in a proof"),
    "stop_grace": Default(
        20, "s", "a stopped combo may tear down so long before it is killed", "BENCH_STOP_GRACE_SEC", 0, False
    ),
    "kill_ladder": Default(2, "s", "between TERM and KILL of a process group"),
    "activity_interval": Default(30, "s", "the journal gets at most one activity event per combo in this time"),
    "breaker": Default(
        3, "combos", "so many in a row with one setup or auth failure: the rest would fail alike", "BENCH_BREAKER", 1
    ),
    "retry_backoff": Default(
        0.5, "s", "before the first retry; doubled for the next, with jitter", "BENCH_RETRY_BACKOFF_SEC", 0, False
    ),
    "retry_backoff_most": Default(300, "s", "no retry waits longer unless the provider named a time"),
    "limit_quiet": Default(
        20,
        "s",
        "without a 429 for so long more combos may ask the provider again",
        "BENCH_LIMIT_QUIET_SEC",
        0.01,
        False,
    ),
    "heartbeat": Default(
        60, "s", "between two looks of the supervisor at the whole run", "BENCH_HEARTBEAT_SEC", 0.05, False
    ),
    "restarts_most": Default(
        5, "restarts", "of a dead supervisor by its keepalive in an hour: more is a fault of ours"
    ),
    "status_ballast": Default(
        1 << 20, "bytes", "preallocated in the run folder so that the journal can be closed on a full disk"
    ),
    "least_free": Default(32 << 20, "bytes", "with less room for runs nothing new is started: results would be lost"),
    "least_secret": Default(8, "characters", "shorter values would redact ordinary words"),
    "journal_snapshot": Default(500, "events", "a snapshot after so many keeps status and resume fast"),
}


def value(name: str, env: Mapping[str, str] = os.environ) -> float:
    """The setting `name`, from its environment variable if set and not empty, else the default.

    Raises ConfigError naming the variable when it is not a number or below the minimum.
    """
    row = TABLE[name]
    raw = env.get(row.env, "") if row.env else ""
    if not raw.strip():
        return row.value
    try:
        number = float(int(raw)) if row.integer else float(raw)
    except ValueError:
        kind = "a whole number" if row.integer else "a number"
        raise ConfigError(
            f"{row.env}={raw!r} is not {kind} ({row.unit})", fix=f"set it to {kind} >= {row.minimum:g}"
        ) from None
    if not number >= row.minimum or number == float("inf"):
        raise ConfigError(f"{row.env}={raw!r} is out of range", fix=f"set it to at least {row.minimum:g} ({row.unit})")
    return number


def integer(name: str, env: Mapping[str, str] = os.environ) -> int:
    """As `value`, for whole numbers."""
    return int(value(name, env))


def flag(name: str, env: Mapping[str, str] = os.environ) -> bool:
    """A boolean variable: 1/true/yes/on or 0/false/no/off/empty; anything else is a ConfigError."""
    raw = env.get(name, "").strip().lower()
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"", "0", "false", "no", "off"}:
        return False
    raise ConfigError(f"{name}={raw!r} is neither true nor false", fix="set it to 1 or 0")
