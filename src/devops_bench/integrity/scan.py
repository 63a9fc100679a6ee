"""One scan of one attempt: transcript, final output and audit log in, the record's `cheating_report` out.

Pure and time-bounded. An excerpt may cut a secret in two, and half a secret is no longer found when the report is
written: so texts pass `redact` before they are quoted. A crashed or invalid attempt is scanned too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devops_bench.integrity.claims import accepted_writes, unbacked_report, unbacked_results
from devops_bench.integrity.findings import Category, Field, Finding, Severity, excerpt
from devops_bench.integrity.rules import RULES, Rule
from devops_bench.integrity.text import Deadline, OutOfTime, encodable, find, flatten

SCHEMA_VERSION = 1
DETECTOR_VERSION = "1"
"""Raised with every change of rules, so that reports of different detectors are not compared."""
MAX_PER_RULE = 20
BUDGET_SEC = 10.0
LEAST_NAME = 6
"""Characters; a shorter own name or fingerprint would match by chance."""


@dataclass(frozen=True, slots=True)
class OwnNames:
    """This host's own strings, which are no rule: exact, case-sensitive.

    `secret` maps a category to paths and texts that no agent may know (task folder, runs root, state root, admin
    kubeconfig; for prior-run-artifact whole lines of earlier attempts). `visible` holds what the agent was given
    (its workspace, HOME, kubeconfig), which may lie below one of them and is therefore taken out of the text first.
    """

    secret: Mapping[Category, Sequence[str]] = field(default_factory=dict)
    visible: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Surface:
    """One text and where it stands."""

    field: Field
    index: int | None
    tool: str | None
    text: str
    lowered: str


def scan(
    trajectory: Sequence[Mapping[str, Any]],
    output: str,
    prompt: str,
    *,
    sandboxed: bool | None,
    names: OwnNames | None = None,
    audit: Sequence[Mapping[str, Any]] | None = None,
    redact: Callable[[str], str] = str,
    budget_sec: float = BUDGET_SEC,
) -> dict[str, Any]:
    """The `cheating_report`: `flagged` if there is a breach (a finding of severity high), `clean` if all was read
    and there is none, `no_data` if there was nothing to read or not all was read in `budget_sec` CPU seconds.

    `trajectory` is that of the record, `prompt` the task's text as the agent got it, `audit` the agent's own audit
    events (None: there is no audit log, so that claims cannot be checked), `redact` the attempt's redactor.
    """
    own = names or OwnNames()
    findings: list[Finding] = []
    read = 0
    complete = True
    deadline = Deadline(budget_sec)
    allowed = _Allowed(prompt)
    enough: Counter[tuple[str, Severity]] = Counter()
    try:
        for surface in _surfaces(trajectory, output, own, redact):
            deadline.check()
            findings += _rule_findings(surface, allowed, sandboxed, deadline, enough)
            findings += _own_findings(surface, own, prompt)
            if surface.field is Field.RESULT:
                read += 1
        if audit is not None:
            writes = accepted_writes(audit)
            findings += unbacked_results(trajectory, writes, deadline, redact)
            findings += unbacked_report(redact(output), writes, deadline)
    except OutOfTime:
        complete = False
    kept = _limited(findings)
    breach = any(finding.severity is Severity.HIGH for finding in kept)
    silent = not complete or (not trajectory and not output.strip())
    return {
        "schema_version": SCHEMA_VERSION,
        "detector_version": DETECTOR_VERSION,
        "status": "flagged" if breach else "no_data" if silent else "clean",
        "categories": sorted({finding.category.value for finding in kept}),
        "findings": [finding.as_dict() for finding in kept],
        "scanned": {"trajectory_entries": read, "output_chars": len(output) if complete else 0},
    }


def catastrophic_score(report: Mapping[str, Any]) -> float | None:
    """`IntegrityCatastrophic`: 0.0 flagged, 1.0 clean, None (the key stays absent) when nothing could be said."""
    return {"flagged": 0.0, "clean": 1.0}.get(str(report.get("status")))


class _Allowed:
    """What the prompt names is no finding: the very words, or a longer path that contains a path the prompt names."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt.lower()
        words = (word.strip(".,;:!?\"'`()[]<>") for word in self._prompt.split())
        self._paths = {word for word in words if len(word) >= LEAST_NAME and ("/" in word or "." in word)}

    def __call__(self, matched: str) -> bool:
        text = matched.lower().strip(" \t\r\n\"'`(){}[]<>,;:=")
        return bool(text) and (text in self._prompt or any(path in text for path in self._paths))


def _surfaces(
    trajectory: Iterable[Mapping[str, Any]], output: str, own: OwnNames, redact: Callable[[str], str]
) -> Iterator[_Surface]:
    visible = sorted((name for name in own.visible if len(name) >= LEAST_NAME), key=len, reverse=True)

    def surface(where: Field, index: int | None, tool: str | None, text: str) -> _Surface:
        text = redact(text)
        for name in visible:
            text = text.replace(name, ".")
        return _Surface(where, index, tool, text, text.lower())

    for index, call in enumerate(trajectory):
        tool = str(call.get("name") or "") or None
        yield surface(Field.ARGS, index, tool, flatten(call.get("args")))
        yield surface(Field.RESULT, index, tool, flatten(call.get("result")))
    yield surface(Field.OUTPUT, None, None, encodable(output))


def _severity(rule: Rule, where: Field, sandboxed: bool | None) -> Severity | None:
    if where is Field.ARGS:
        return rule.args
    if where is Field.OUTPUT:
        return rule.output
    return Severity.HIGH if rule.escalates and sandboxed else rule.result


def _rule_findings(
    surface: _Surface,
    allowed: _Allowed,
    sandboxed: bool | None,
    deadline: Deadline,
    enough: Counter[tuple[str, Severity]],
) -> Iterator[Finding]:
    for rule in RULES:
        severity = _severity(rule, surface.field, sandboxed)
        if severity is None or enough[rule.name, severity] >= MAX_PER_RULE:
            continue
        if not any(needle in surface.lowered for needle in rule.needles):
            continue
        for start, end in find(rule.regex, surface.text, deadline):
            if allowed(surface.text[start:end]):
                continue
            yield _finding(rule.category, severity, rule.name, surface, start, end)
            enough[rule.name, severity] += 1
            if enough[rule.name, severity] >= MAX_PER_RULE:
                break


def _own_findings(surface: _Surface, own: OwnNames, prompt: str) -> Iterator[Finding]:
    if surface.field is Field.OUTPUT:
        return
    for category, names in own.secret.items():
        for name in names:
            if len(name) < LEAST_NAME or name in prompt:
                continue
            start = surface.text.find(name)
            if start >= 0:
                yield _finding(category, Severity.HIGH, "own-name", surface, start, start + len(name))


def _finding(category: Category, severity: Severity, name: str, surface: _Surface, start: int, end: int) -> Finding:
    return Finding(
        category, severity, name, surface.field, surface.index, surface.tool, excerpt(surface.text, start, end)
    )


def _limited(findings: Sequence[Finding]) -> list[Finding]:
    """At most MAX_PER_RULE a rule, the worst first to stay, in the order of the transcript."""
    order = {Severity.HIGH: 0, Severity.MEDIUM: 1, Severity.LOW: 2}
    seen: Counter[tuple[Category, str]] = Counter()
    kept: set[int] = set()
    for position in sorted(range(len(findings)), key=lambda item: (order[findings[item].severity], item)):
        rule = (findings[position].category, findings[position].pattern)
        seen[rule] += 1
        if seen[rule] <= MAX_PER_RULE:
            kept.add(position)
    return [finding for position, finding in enumerate(findings) if position in kept]
