"""From documents, a path, an operator and a value to a verdict: the core of every check that reads a field. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from devops_bench.tasks.checks import Across, Op
from devops_bench.verification.ops import MISSING, BadExpectation, holds, show
from devops_bench.verification.paths import BadPath, TooManyMatches, compile_path
from devops_bench.verification.verdict import Verdict, errored, failed, passed


@dataclass(frozen=True, slots=True)
class Document:
    """Something to look into, and what to call it in a reason. What is found in a `private` one is never shown."""

    name: str
    body: Any
    private: bool = False


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a check demands of a field. Without a path it is about the document itself."""

    path: str | None
    op: Op
    value: Any = None
    across: Across | None = None

    def said(self) -> str:
        """For reasons: `spec.replicas gte 3`."""
        tail = "" if self.op in {Op.EXISTS, Op.ABSENT} else f" {show(self.value)}"
        return f"{self.path or 'object'} {self.op}{tail}"


def judge(documents: Sequence[Document], want: Expectation, nothing: str) -> Verdict:
    """The verdict over all values found in all documents.

    `nothing` is the reason used when there is no document: that fails, except for an `absent` without a path. Several
    values without `across` fail. With `every`, each element must hold, and one that lacks the field fails (it
    satisfies only `ne` and `absent`). With `none`, no element may hold, and one that lacks the field is fine (except
    for `absent`, which is about lacking it).
    """
    if not documents:
        return passed(nothing) if want.op is Op.ABSENT and want.path is None else failed(nothing)
    try:
        found = _values(documents, want.path)
        verdicts = [(document, value, holds(want.op, value, want.value)) for document, value in found]
    except (BadPath, BadExpectation) as error:
        return errored(str(error))
    except (TooManyMatches, RecursionError) as error:
        return failed(str(error) or "the object is too deep")
    if want.across is None:
        if len(verdicts) > 1:
            names = ", ".join(document.name for document, _, _ in verdicts[:3])
            return failed(f"{len(verdicts)} matches ({names} ...) where one is expected; set across_matches")
        document, value, good = verdicts[0]
        tail = f", found {_shown(document, value)}" if want.path else ""
        text = f"{document.name}: {want.said()}{tail}"
        return passed(text) if good else failed(text)
    if want.across is Across.EVERY:
        bad = [(document, value) for document, value, good in verdicts if not good]
        if bad:
            return failed(f"{len(bad)} of {len(verdicts)} not {want.said()}: {_listed(bad)}")
        return passed(f"all {len(verdicts)} are {want.said()}")
    hits = [
        (document, value)
        for document, value, good in verdicts
        if good and (value is not MISSING or want.op is Op.ABSENT)
    ]
    if hits:
        return failed(f"{len(hits)} of {len(verdicts)} are {want.said()}: {_listed(hits)}")
    return passed(f"none of {len(verdicts)} is {want.said()}")


def _values(documents: Sequence[Document], path: str | None) -> list[tuple[Document, Any]]:
    if path is None:
        return [(document, document.body) for document in documents]
    compiled = compile_path(path)
    return [(document, value) for document in documents for value in compiled.values(document.body)]


def _listed(items: Sequence[tuple[Document, Any]]) -> str:
    shown = ", ".join(f"{document.name} has {_shown(document, value)}" for document, value in items[:3])
    return shown + (", ..." if len(items) > 3 else "")


def _shown(document: Document, value: Any) -> str:
    return "a value that is not shown" if document.private and value is not MISSING else show(value)
