"""Where a value of the matrix comes from: flags over environment over matrix file.

Every value keeps its place, so that an error names the variable, the flag or the file and line to change. An empty
value is an unset one, everywhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.matrix.presets import Place

# Axis -> the variables that set it, the main one first. Flags are the axis with dashes, file keys the axis itself.
AXES: dict[str, tuple[str, ...]] = {
    "tasks": ("MATRIX_TASKS",),
    "models": ("MATRIX_MODELS",),
    "configs": ("MATRIX_AGENT_CONFIGS",),
    "repeats": ("MATRIX_REPEATS",),
    "max_parallel": ("MAX_PARALLEL",),
    "agent_timeout_sec": ("AGENT_TIMEOUT_SEC",),
    "agent_max_turns": ("AGENT_MAX_TURNS",),
    "agent_provider": ("AGENT_PROVIDER",),
    "agent_extra_flags": ("AGENT_EXTRA_FLAGS",),
    "mcp_server": ("MCP_SERVER_BIN", "AGENT_MCP_SERVER"),
    "skills_paths": ("SKILLS_PATHS", "AGENT_SKILLS_PATHS"),
    "scenarios_dir": ("BENCH_SCENARIOS_DIR",),
    "sandbox": ("BENCH_AGENT_SANDBOX",),
    "provider": ("INFRA_PROVIDER",),
    "cluster_name": ("CLUSTER_NAME",),
    "location": ("GCP_LOCATION",),
    "project": ("PROJECT_ID", "GCP_PROJECT_ID"),
    "judge_model": ("JUDGE_MODEL",),
    "judge_provider": ("JUDGE_PROVIDER",),
    "chaos_model": ("CHAOS_MODEL",),
    "chaos_provider": ("CHAOS_PROVIDER",),
    "vertex": ("BENCH_VERTEX",),
    "remote": ("BENCH_REMOTE",),
    "no_teardown": ("BENCH_NO_TEARDOWN",),
    "results_dir": ("RESULTS_DIR",),
    "dry_run": ("DRY_RUN",),
    "resume_stamp": ("RESUME_STAMP",),
    "poll_timeout_sec": ("MATRIX_POLL_TIMEOUT_SEC",),
    "skip_model_preflight": ("SKIP_MODEL_PREFLIGHT",),
}
# Two variables that mean the same must not contradict each other; elsewhere the main one wins.
_MUST_AGREE: frozenset[str] = frozenset({"project"})


@dataclass(frozen=True, slots=True)
class Given:
    """A value as written: one text, or a list that needs no splitting. Relative paths count from `base`."""

    value: str | tuple[str, ...]
    place: Place
    base: Path

    def error(self, what: str, fix: str = "") -> ConfigError:
        """A ConfigError at this value's place."""
        return ConfigError(what, where=self.place.where, line=self.place.line, fix=fix)

    @property
    def text(self) -> str:
        """The value as one text."""
        return self.value if isinstance(self.value, str) else " ".join(self.value)

    def words(self) -> tuple[str, ...]:
        """The value as a list; a text is split like a shell does. Raises ConfigError for an open quote."""
        if isinstance(self.value, tuple):
            return self.value
        try:
            return tuple(shlex.split(self.value))
        except ValueError:
            raise self.error("a quote is not closed", "close it, or escape it with a backslash") from None


@dataclass(frozen=True, slots=True)
class Sources:
    """All places a value may come from. `file` holds the values of a matrix file by axis, already typed and placed."""

    env: Mapping[str, str]
    flags: Mapping[str, Given]
    file: Mapping[str, Given]
    cwd: Path

    def get(self, axis: str) -> Given | None:
        """The value that wins for `axis`; None when nobody set it. Raises ConfigError when aliases contradict."""
        return self.flags.get(axis) or self._from_env(axis) or self.file.get(axis)

    def _from_env(self, axis: str) -> Given | None:
        names = [name for name in AXES[axis] if self.env.get(name, "").strip()]
        if not names:
            return None
        first = names[0]
        for other in names[1:]:
            if axis in _MUST_AGREE and self.env[other] != self.env[first]:
                raise ConfigError(
                    f"{first}={self.env[first]!r} and its alias {other}={self.env[other]!r} differ",
                    fix=f"unset {other}",
                )
        return Given(self.env[first].strip(), Place(first), self.cwd)


def from_flags(flags: Mapping[str, object], cwd: Path) -> dict[str, Given]:
    """The flags that were given: None, empty texts and empty lists are not. Raises TypeError for an unknown axis."""
    found: dict[str, Given] = {}
    for axis, value in flags.items():
        if axis not in AXES:
            raise TypeError(f"no such axis: {axis}")
        plain = plain_value(value)
        if plain:
            found[axis] = Given(plain, Place("--" + axis.replace("_", "-")), cwd)
    return found


def plain_value(value: object) -> str | tuple[str, ...]:
    """One value of a flag or file as text or list of texts; empty when it says nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Sequence):
        return tuple(str(item) for item in value)
    return str(value)
