"""What a single verification entry may not say although its types are right. Pure: each problem is (place, message).

The loader turns the first problem into a ParseFailure with the line of its place; the review reports them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from devops_bench.tasks.checks import (
    Access,
    AnswerCheck,
    AuditCheck,
    CheckBase,
    CloudResourceProperty,
    CommandCheck,
    DryRun,
    FileCheck,
    GitRepoSync,
    Group,
    HttpProbe,
    Op,
    Place,
    PodExec,
    Reachable,
    ResourceProperty,
    ScalingComplete,
    ScriptCheck,
)
from devops_bench.tasks.spec import Entry, Mode, Role

Loc = tuple[str | int, ...]
Problem = tuple[Loc, str]

_VALUELESS = {Op.EXISTS, Op.ABSENT}
_ORDERED = {Op.GT, Op.GTE, Op.LT, Op.LTE}
# The shapes nearly all checks use; anything else is compiled by the JSONPath library itself.
_STEP = r"(\.[A-Za-z_][\w-]*|\[\d+\]|\[\*\]|\.\*|\['[^'\\\]]+'\]|\[\"[^\"\\\]]+\"\])"
_PLAIN_PATH = re.compile(rf"\$?{_STEP}+\Z|[A-Za-z_][\w-]*{_STEP}*\Z")
_PATTERN_IN_FILTER = re.compile(r"=~|\b(?:match|search)\s*\(")
_QUANTITY = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|n|u)?\Z")
_READ_ONLY_VERBS = {"list", "describe", "get-iam-policy"}


def entry_problems(entry: Entry, raw: dict[str, Any]) -> Iterator[Problem]:
    """Problems of `entry`; `raw` is what the file held, to tell `value: null` from no value."""
    if entry.role is Role.OBJECTIVE and entry.severity is not None:
        yield ("severity",), "severity is for safeguards only; remove it or set role: safeguard"
    hold = entry.effective_mode is Mode.HOLD
    if hold and entry.role is Role.OBJECTIVE and entry.hold_window_sec is None:
        yield ("mode",), "an objective with mode hold needs hold_window_sec (seconds that it must stay true)"
    if hold and entry.role is Role.SAFEGUARD and entry.hold_window_sec is not None:
        yield ("hold_window_sec",), "a hold safeguard covers the agent's whole turn; remove hold_window_sec"
    for field in ("hold_window_sec", "hold_poll_interval_sec"):
        if not hold and getattr(entry, field) is not None:
            yield (field,), f"{field} needs mode: hold"
    yield from check_problems(entry.check, raw.get("check") or {}, ("check",))


def check_problems(check: CheckBase, raw: Any, loc: Loc) -> Iterator[Problem]:
    """Problems of one check and those inside it."""
    given: dict[str, Any] = raw if isinstance(raw, dict) else {}
    if isinstance(check, Group):
        children = given.get("checks") or []
        for index, child in enumerate(check.checks):
            inner = children[index] if index < len(children) else {}
            yield from check_problems(child, inner, (*loc, "checks", index))
        return
    if isinstance(check, (ResourceProperty, GitRepoSync, FileCheck, CloudResourceProperty)):
        yield from _property_problems(check, given, loc)
    if isinstance(check, (ResourceProperty, PodExec)) and check.resource_name and check.selector:
        yield (*loc, "selector"), "resource_name and selector exclude each other; keep one"
    if isinstance(check, PodExec):
        if not check.resource_name and not check.selector:
            yield loc, "pod_exec needs resource_name or selector"
        yield from _op_problems(check.op, given, loc)
    if isinstance(check, (PodExec, CommandCheck)) and not check.command:
        yield (*loc, "command"), "command must not be empty"
    if isinstance(check, CommandCheck):
        yield from _output_problems(check, given, loc)
        if check.timeout_sec <= 0:
            yield (*loc, "timeout_sec"), "timeout_sec must be greater than 0"
    if isinstance(check, AnswerCheck):
        yield from _op_problems(check.op, given, loc)
    if isinstance(check, ScriptCheck) and (check.file.startswith("/") or ".." in check.file.split("/")):
        yield (*loc, "file"), "file is a path inside the task's folder"
    if isinstance(check, ScalingComplete):
        if check.max_replicas is not None and check.max_replicas < check.min_replicas:
            yield (*loc, "max_replicas"), "max_replicas is below min_replicas"
        if check.min_replicas < 0:
            yield (*loc, "min_replicas"), "min_replicas must be at least 0"
    if isinstance(check, AuditCheck):
        if check.max_count is None and check.min_count == 0:
            yield loc, "an audit check needs min_count or max_count"
        if check.max_count is not None and check.max_count < check.min_count:
            yield (*loc, "max_count"), "max_count is below min_count"
    if isinstance(check, HttpProbe) and check.expect_body_matches is not None:
        yield from _regex_problems(check.expect_body_matches, (*loc, "expect_body_matches"))
    if isinstance(check, DryRun):
        yield from _dry_run_problems(check, loc)
    if isinstance(check, Reachable):
        yield from _place_problems(check.source, (*loc, "source"))
        yield from _place_problems(check.target, (*loc, "target"))
        if check.source.service:
            yield (*loc, "source", "service"), "a Service opens no connections; name its pods"
        if isinstance(check.port, int) and not 1 <= check.port <= 65535:
            yield (*loc, "port"), f"port {check.port} does not exist"
        if isinstance(check.port, str) and (check.target.address or check.target.labels is not None):
            yield (*loc, "port"), "a named port needs pods or a Service as target"
    if isinstance(check, Access) and not (check.can or check.cannot):
        yield loc, "an access check needs can or cannot"
    if isinstance(check, CloudResourceProperty) and not _READ_ONLY_VERBS & set(check.args):
        yield (*loc, "args"), f"args may only read; use one of: {', '.join(sorted(_READ_ONLY_VERBS))}"


def _dry_run_problems(check: DryRun, loc: Loc) -> Iterator[Problem]:
    if check.message_matches is not None:
        yield from _regex_problems(check.message_matches, (*loc, "message_matches"))
    if (check.manifest is None) == (check.template_of is None):
        yield loc, "dry_run needs either manifest or template_of"
    if check.template_of is not None and check.operation != "create":
        yield (*loc, "operation"), "a pod of a template is created; remove operation"


def _place_problems(place: Place, loc: Loc) -> Iterator[Problem]:
    if place.address is not None:
        if place.namespace or place.selector or place.labels is not None or place.service:
            yield (*loc, "address"), "an address stands alone"
        try:
            ip_address(place.address)
        except ValueError:
            yield (*loc, "address"), f"{place.address!r} is no IP address"
        return
    if place.namespace is None:
        yield loc, "needs a namespace (or an address)"
    if sum(given is not None for given in (place.selector, place.labels, place.service)) > 1:
        yield loc, "selector, labels and service exclude each other; keep one"


def _property_problems(
    check: ResourceProperty | GitRepoSync | FileCheck | CloudResourceProperty, given: dict[str, Any], loc: Loc
) -> Iterator[Problem]:
    has_path = check.path is not None
    if isinstance(check, GitRepoSync) and has_path and check.file is None:
        yield (*loc, "path"), "path needs file"
    text_check = isinstance(check, (FileCheck, GitRepoSync)) and not has_path
    if not has_path and check.op not in _VALUELESS and not text_check:
        yield (*loc, "op"), f"op {check.op} needs path"
    yield from _expectation_problems(check, check.op, given, loc)


def _output_problems(check: CommandCheck, given: dict[str, Any], loc: Loc) -> Iterator[Problem]:
    if check.op is not None:
        yield from _expectation_problems(check, check.op, given, loc)
        return
    for field in ("path", "value", "across_matches"):
        if field in given:
            yield (*loc, field), f"{field} needs an op"


def _expectation_problems(
    check: ResourceProperty | GitRepoSync | FileCheck | CloudResourceProperty | CommandCheck,
    op: Op,
    given: dict[str, Any],
    loc: Loc,
) -> Iterator[Problem]:
    if check.path is not None:
        yield from path_problems(check.path, (*loc, "path"))
    if check.across_matches is not None:
        if op is Op.ABSENT:
            yield (*loc, "across_matches"), "op absent already means no match; remove across_matches"
        elif check.path is None:
            yield (*loc, "across_matches"), "across_matches needs path"
    yield from _op_problems(op, given, loc)


def _op_problems(op: Op, given: dict[str, Any], loc: Loc) -> Iterator[Problem]:
    if op in _VALUELESS:
        if "value" in given:
            yield (*loc, "value"), f"op {op} takes no value; remove it"
        return
    if "value" not in given:
        yield (*loc, "op") if "op" in given else loc, f"op {op} needs a value"
        return
    value = given["value"]
    if op is Op.MATCHES:
        if not isinstance(value, str):
            yield (*loc, "value"), "op matches needs a regular expression (text)"
        else:
            yield from _regex_problems(value, (*loc, "value"))
    elif op in _ORDERED:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number and not (isinstance(value, str) and _QUANTITY.match(value)):
            yield (*loc, "value"), f"op {op} needs a number or a quantity such as 500m or 1Gi"
    elif op is Op.CONTAINS and value is None:
        yield (*loc, "value"), "op contains needs a value"


def path_problems(path: str, loc: Loc) -> Iterator[Problem]:
    """One problem if `path` is not JSONPath (`$.a.b`, `a.b`, `.a.b`, or kubectl's `{.a.b}` and `a\\.b`).

    The library is only imported for paths beyond the plain shapes.
    """
    bare = path.strip()
    if bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1].strip()
    bare = bare.replace("\\.", "_").replace("/", "_") if "[" not in bare else bare
    if _PLAIN_PATH.match(bare):
        return
    if _PATTERN_IN_FILTER.search(bare):
        yield loc, f"path may not hold a pattern; use op: matches: {path!r}"
        return
    import jsonpath

    try:
        jsonpath.compile(bare if bare.startswith("$") else f"${bare if bare[:1] in '.[' else '.' + bare}")
    except Exception as error:  # the library's family is wide; whatever it says, the path is unusable
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        yield loc, f"path is not JSONPath ({detail}): {path!r}"


def _regex_problems(pattern: str, loc: Loc) -> Iterator[Problem]:
    """Judged by the engine that will run it: RE2 where it is installed, which has no look-around."""
    try:
        import re2 as engine
    except ImportError:
        import re as engine
    try:
        engine.compile(pattern)
    except engine.error as error:
        detail = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        yield loc, f"is not a regular expression ({detail}): {pattern!r}"
