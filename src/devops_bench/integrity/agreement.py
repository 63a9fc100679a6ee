"""Do the witnesses of one run agree? The agent's own transcript, what its model asked for as the gateway saw it, what
reached the MCP server, and what the API server recorded.

A transcript is written by the thing under test. Where it differs from the others, the difference is a finding beside
the verdict: it changes no score by itself, because an adapter may misread a new version of a CLI just as well.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from devops_bench.integrity.claims import WRITE_VERBS
from devops_bench.integrity.findings import Category, Field, Finding, Severity, excerpt
from devops_bench.models.exchange import AskedCall, Exchange
from devops_bench.plaintext import counted

MAX_FINDINGS = 20
LATE_SEC = 2.0
"""Slack after the agent's end: the API server's clock is ours, but a request under way may end a little later."""
_LEAST_LEAF = 6
_MOST_REFUSED = 3
_MCP, _SKILL, _OK = "mcp", "skill", "ok"


class Disagreement(StrEnum):
    """What differs; the `pattern` of a finding."""

    CLAIMED_NOT_ASKED = "claimed-but-not-asked"
    ASKED_NOT_CLAIMED = "asked-but-not-in-transcript"
    ARGUMENTS = "arguments-differ"
    MCP_COUNT = "mcp-count-differs"
    CHANGE_WITHOUT_CALL = "change-without-call"
    CHANGE_AFTER_END = "change-after-end"
    UNGRANTED_TOOLS = "request-with-ungranted-tools"


class AgreementStatus(StrEnum):
    """`no_data`: there was no second witness (an agent without a model, an empty run)."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NO_DATA = "no_data"


@dataclass(frozen=True, slots=True)
class Told:
    """A tool call as the transcript tells it; `kind` builtin, mcp or skill, `status` ok, error or blocked."""

    name: str
    args: Mapping[str, Any]
    status: str = _OK
    kind: str = "builtin"
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """An accepted write in the audit log. `time` is UTC epoch seconds, None when it cannot be read."""

    user: str
    verb: str
    what: str
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What is known beside the transcript. None: that witness did not exist.

    `asked` are the calls in the model's replies, `maybe` those that may have been done or not, `mcp` the tool names
    that reached the MCP server `server`, `changes` the accepted writes. `refused` tells of model requests that the
    gateway turned down because they offered tools that nobody granted. `users` are the identities of the agent's shell
    and of its MCP server. `ended` is when the agent ended (epoch seconds), `settled` whether it ended by itself: a
    limit may fall between a call and its record.
    """

    asked: Sequence[AskedCall] | None = None
    maybe: Sequence[AskedCall] = ()
    mcp: Sequence[str] | None = None
    changes: Sequence[Change] | None = None
    refused: Sequence[str] = ()
    server: str = ""
    users: tuple[str, str] = ("agent", "agent-mcp")
    ended: float | None = None
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Agreement:
    """The outcome; `counts` are calls told, asked and seen by the MCP server, and accepted writes."""

    status: AgreementStatus
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, int | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For attempt.json and environment.json: status, counts, and the kinds of disagreement with their number."""
        kinds = Counter(finding.pattern for finding in self.findings)
        return {"status": self.status.value, **self.counts, "differences": dict(sorted(kinds.items()))}


def asked_calls(exchanges: Sequence[Exchange], *, settled: bool) -> tuple[list[AskedCall], list[AskedCall]]:
    """The calls that an agent must have seen, and those that it may have: of replies that broke off, and of the last
    whole one unless the run `settled` by itself (a limit may fall between asking and doing).
    """
    sure = [one for one in exchanges if one.status == 200 and not one.fault]
    broken = [one for one in exchanges if one.fault]
    if not settled:
        sure, broken = sure[:-1], sure[-1:] + broken
    return [call for one in sure for call in one.calls], [call for one in broken for call in one.calls]


def changes_of(audit: Sequence[Mapping[str, Any]]) -> list[Change]:
    """Accepted writes of an audit log (audit.k8s.io/v1): no dry run, no review of access, answered below 400."""
    found = []
    for event in audit:
        if event.get("verb") not in WRITE_VERBS or "dryRun=" in str(event.get("requestURI") or ""):
            continue
        status, ref, user = event.get("responseStatus"), event.get("objectRef"), event.get("user")
        code = status.get("code") if isinstance(status, Mapping) else None
        ref = ref if isinstance(ref, Mapping) else {}
        resource = str(ref.get("resource") or "")
        if (isinstance(code, int) and code >= 400) or resource.endswith("reviews"):
            continue
        name = str(user.get("username") or "") if isinstance(user, Mapping) else ""
        what = "/".join(str(ref.get(key)) for key in ("namespace", "resource", "name") if ref.get(key))
        found.append(Change(name, str(event["verb"]), what, _time(event.get("requestReceivedTimestamp"))))
    return found


def compare(told: Sequence[Told], seen: Witnesses, redact: Callable[[str], str] = str) -> Agreement:
    """Hold the transcript against every other witness. Pure."""
    counts: dict[str, int | None] = {
        "told": len(told),
        "asked": None if seen.asked is None else len(seen.asked),
        "told_mcp": sum(call.kind == _MCP for call in told),
        "mcp": None if seen.mcp is None else len(seen.mcp),
        "changes": None if seen.changes is None else len(seen.changes),
    }
    if seen.asked is None and seen.mcp is None and seen.changes is None:
        return Agreement(AgreementStatus.NO_DATA, counts=counts)
    found: list[Finding] = []
    if seen.asked is not None:
        found += _transcript(told, seen.asked, seen.maybe, seen.server, redact)
    if seen.mcp is not None:
        found += _mcp(told, seen)
    if seen.changes is not None:
        found += _changes(told, seen)
    found = [*(_refused(line) for line in seen.refused[:_MOST_REFUSED]), *found]
    status = AgreementStatus.DIFFERS if found else AgreementStatus.AGREES
    return Agreement(status, tuple(found[:MAX_FINDINGS]), counts)


def merged(report: Mapping[str, Any], agreement: Agreement) -> dict[str, Any]:
    """The `cheating_report` with the agreement's findings among its own; its status stays what it was."""
    more = [finding.as_dict() for finding in agreement.findings]
    if not more:
        return dict(report)
    categories = sorted({*report.get("categories", ()), *(item["category"] for item in more)})
    return {**report, "categories": categories, "findings": [*report.get("findings", ()), *more]}


def plain_name(name: str, server: str = "") -> str:
    """A tool's own name: without the forms in which CLIs put the MCP server's in front."""
    if server:
        stripped = re.sub(rf"^(?:mcp[_/.:-]+)?{re.escape(server)}[_/.:-]+", "", name)
        name = stripped or name
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


# -- transcript against model ---------------------------------------------------------------------------------------


def _transcript(
    told: Sequence[Told],
    sure: Sequence[AskedCall],
    maybe: Sequence[AskedCall],
    server: str,
    redact: Callable[[str], str],
) -> Iterator[Finding]:
    asked = [*sure, *maybe]
    left = list(range(len(asked)))
    pairs: dict[int, int] = {}
    names = [plain_name(call.name, server) for call in asked]
    texts = [_text(call.args, redact) for call in asked]
    own = [(plain_name(call.name, server), _text(call.args, redact)) for call in told]

    def take(fits: Callable[[int, int], bool]) -> None:
        for index in range(len(told)):
            if index in pairs:
                continue
            match = next((at for at in left if fits(index, at)), None)
            if match is not None:
                left.remove(match)
                pairs[index] = match

    # An id is the best witness, then name and arguments, then the name, then the arguments: CLIs rename their tools.
    take(lambda i, at: bool(told[i].call_id) and told[i].call_id == asked[at].id)
    take(lambda i, at: own[i][0] == names[at] and own[i][1] == texts[at])
    take(lambda i, at: own[i][0] == names[at])
    take(lambda i, at: len(texts[at]) >= _LEAST_LEAF and own[i][1] == texts[at])
    for index, call in enumerate(told):
        if index not in pairs:
            yield _finding(Disagreement.CLAIMED_NOT_ASKED, index, call.name, f"{call.name} {own[index][1]}")
        elif not _same(asked[pairs[index]].args, own[index][1], redact):
            line = f"asked for {texts[pairs[index]]}, told as {own[index][1]}"
            yield _finding(Disagreement.ARGUMENTS, index, call.name, line)
    for at in (at for at in left if at < len(sure)):
        yield _finding(Disagreement.ASKED_NOT_CLAIMED, None, asked[at].name, f"{asked[at].name} {texts[at]}")


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield json.dumps(value, default=str)


def _text(args: Any, redact: Callable[[str], str]) -> str:
    return " ".join(redact(" ".join(sorted(_leaves(args)))).split())


def _same(asked: Any, told: str, redact: Callable[[str], str]) -> bool:
    """Whether every text the model sent stands in the transcript's arguments; short ones and order do not matter."""
    bare = "".join(told.split())
    for leaf in _leaves(asked):
        text = "".join(redact(leaf).split())
        if len(text) >= _LEAST_LEAF and text not in bare:
            return False
    return True


# -- transcript against MCP server ----------------------------------------------------------------------------------


def _mcp(told: Sequence[Told], seen: Witnesses) -> Iterator[Finding]:
    """Per tool: at least the calls that are told as answered must have come, and no more than all that are told."""
    server = seen.server
    came = Counter(plain_name(name, server) for name in seen.mcp or ())
    calls = [call for call in told if call.kind == _MCP]
    every = Counter(plain_name(call.name, server) for call in calls)
    answered = Counter(plain_name(call.name, server) for call in calls if call.status == _OK)
    for name in sorted(every.keys() | came.keys()):
        if came[name] < answered[name] or (seen.settled and came[name] > every[name]):
            line = f"{name}: the transcript tells {counted(every[name], 'call')}, {came[name]} reached the MCP server"
            index = next((at for at, call in enumerate(told) if plain_name(call.name, server) == name), None)
            yield _finding(Disagreement.MCP_COUNT, index, name, line)


# -- transcript against audit log -----------------------------------------------------------------------------------


def _changes(told: Sequence[Told], seen: Witnesses) -> Iterator[Finding]:
    shell, server = seen.users
    acted = any(call.kind not in {_MCP, _SKILL} for call in told)
    called = any(call.kind == _MCP for call in told)
    for user, explained, how in ((shell, acted, "shell"), (server, called, "MCP")):
        own = [change for change in seen.changes or () if change.user.rpartition(":")[2] == user]
        if own and not explained:
            what = f"the first: {own[0].verb} {own[0].what}"
            line = f"{counted(len(own), 'change')} by {user} without any {how} call, {what}"
            yield _finding(Disagreement.CHANGE_WITHOUT_CALL, None, None, line)
        late = [one for one in own if seen.ended and one.time and one.time > seen.ended + LATE_SEC]
        if late:
            what = f"the first: {late[0].verb} {late[0].what}"
            line = f"{counted(len(late), 'change')} by {user} after the agent's end, {what}"
            yield _finding(Disagreement.CHANGE_AFTER_END, None, None, line)


def _refused(line: str) -> Finding:
    return _finding(Disagreement.UNGRANTED_TOOLS, None, None, line)


def _time(value: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None


def _finding(kind: Disagreement, index: int | None, tool: str | None, line: str) -> Finding:
    return Finding(
        Category.TRANSCRIPT_MISMATCH, Severity.MEDIUM, kind.value, Field.ARGS, index, tool, excerpt(line, 0, len(line))
    )
