"""`audit`: how many requests of the agent the API server recorded. The server's own record, not the transcript.

A request counts once (by its audit id), and only if it was granted, unless `include_denied`; a dry run changes
nothing and does not count as a write. The log holds what the harness and the controllers did not do, so every user in
it that is not ours is the agent: by its own name, by the MCP server's, or by a credential that it made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devops_bench.tasks.checks import AuditCheck
from devops_bench.verification.scope import CannotEvaluate, Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed

_READS = frozenset({"get", "list", "watch"})
_OURS = frozenset({"admin", "system:apiserver", "system:anonymous"})


def audit(check: AuditCheck, scope: Scope) -> Verdict:
    """Count and compare with min_count and max_count."""
    path = scope.context.audit_log
    if path is None:
        raise CannotEvaluate("this combo has no audit log")
    try:
        count, truncated = _count(path, check)
    except OSError as error:
        return errored(f"audit log cannot be read: {error.strerror}")
    except ValueError as error:
        return errored(f"audit log is damaged: {error}")
    said = f"{count} matching requests"
    if check.max_count is not None and count > check.max_count:
        return failed(f"{said}, at most {check.max_count} allowed")
    if truncated and (check.max_count is not None or count < check.min_count):
        return errored(f"{said}, but the log reached its limit and is incomplete")
    if count < check.min_count:
        return failed(f"{said}, at least {check.min_count} needed")
    return passed(said)


def _count(path: Path, check: AuditCheck) -> tuple[int, bool]:
    seen: set[str] = set()
    truncated = False
    for event in events(path):
        if event.get("kind") == "Truncated":
            truncated = True
        elif _matches(event, check):
            seen.add(str(event.get("auditID")))
    return len(seen), truncated


def events(path: Path) -> Iterator[dict[str, Any]]:
    """Events in order. A torn last line is left out; any other line that is not an object raises ValueError."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                event = json.loads(line)
            except ValueError:
                raise ValueError(f"line {number} is not JSON") from None
            if not isinstance(event, dict):
                raise ValueError(f"line {number} is not an object")
            yield event


def _matches(event: Mapping[str, Any], check: AuditCheck) -> bool:
    target = event.get("objectRef") or {}
    verb = str(event.get("verb") or "")
    code = int((event.get("responseStatus") or {}).get("code") or 0)
    if str((event.get("user") or {}).get("username")) in _OURS:
        return False
    if code >= 400 and not check.include_denied:
        return False
    if verb not in _READS and "dryRun=" in str(event.get("requestURI") or ""):
        return False
    return (
        _one_of(verb, check.verbs)
        and _resource_in(target, check.resources)
        and _one_of(str(target.get("namespace") or ""), check.namespaces)
        and _one_of(str(target.get("name") or ""), check.names)
    )


def _one_of(value: str, wanted: list[str]) -> bool:
    return not wanted or "*" in wanted or value in wanted


def _resource_in(target: Mapping[str, Any], wanted: list[str]) -> bool:
    """`pods` is pods alone, `pods/exec` that subresource, `pods/*` both; `deployments.apps` names the group too."""
    if not wanted:
        return True
    plain, group, sub = (str(target.get(key) or "") for key in ("resource", "apiGroup", "subresource"))
    for item in wanted:
        base, _, wanted_sub = item.lower().partition("/")
        if base in {"*", plain, f"{plain}.{group}"} and (wanted_sub in {"*", sub} or base == "*"):
            return True
    return False
