"""The setup of an attempt: what is compared with what. Its id is stable across runs and hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from devops_bench.errors import HarnessError
from devops_bench.results.record import Record

RUN_ID = re.compile(r"run_\d{8}_\d{6}(_.+)?")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")

MCP = "mcp"
SKILLS = "skills"
UNSANDBOXED = "unsandboxed"
"""Our token: without the sandbox the agent may see more, so it is another setup."""


def setup_id(model: str, harness: str, augmentation: Iterable[str]) -> str:
    """Slug of `model-harness[-sorted tokens]`: lower case, each run of other characters one dash, none at the ends."""
    parts = [model, harness, *sorted(set(augmentation))]
    return _NOT_SLUG.sub("-", "-".join(parts).lower()).strip("-")


def utc_now() -> str:
    """Now, UTC, as `2026-01-31T12:00:00Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """A UTC ISO-8601 time ending in Z or an offset, as an aware datetime. Raises ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Who ran: `augmentation` holds the planned tokens `mcp` and `skills`; `sandbox` says whether one was asked for.

    `run_id` is the attempt folder's name, `t` the end of the attempt (UTC, Z), `iteration` the repeat from 0 (never the
    attempt's number), `timeout_sec` the agent's limit in seconds.
    """

    model: str
    harness: str
    run_id: str
    t: str
    augmentation: tuple[str, ...] = ()
    sandbox: bool = True
    iteration: int = 0
    timeout_sec: float | None = None
    judge_model: str | None = None
    sandbox_image: str | None = None
    sandbox_image_digest: str | None = None

    def __post_init__(self) -> None:
        if not RUN_ID.fullmatch(self.run_id):
            raise HarnessError(f"run id {self.run_id!r} is not run_<YYYYmmdd_HHMMSS>[_...]")
        if self.iteration < 0:
            raise HarnessError(f"iteration {self.iteration} is negative")
        try:
            parse_time(self.t)
        except ValueError:
            raise HarnessError(f"t {self.t!r} is not a UTC time like 2026-01-31T12:00:00Z") from None
        if not self.t.endswith("Z"):
            raise HarnessError(f"t {self.t!r} does not end in Z")

    @property
    def tokens(self) -> list[str]:
        """The contract's `augmentation`: sorted, each once."""
        return sorted(set(self.augmentation) | (set() if self.sandbox else {UNSANDBOXED}))

    @property
    def id(self) -> str:
        """The `setupId`."""
        return setup_id(self.model, self.harness, self.tokens)

    def resolved(self, record: Record) -> Setup:
        """The setup as it turned out: an agent that ran without its sandbox was unsandboxed, whatever was asked for."""
        return replace(self, sandbox=False) if record.sandboxed is False else self

    def missing_grants(self, record: Record) -> list[str]:
        """Planned tokens that a run agent did not get. Such a run must not be compared with ones that did."""
        if not record.agent_ran:
            return []
        granted = record.capabilities_granted
        held = {MCP: bool(granted.get("use_mcp")), SKILLS: bool(granted.get("skills"))}
        return [token for token in sorted(set(self.augmentation)) if not held.get(token, True)]
