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

    def said(self, about: Document) -> str:
        """For reasons: `spec.replicas gte 3`, `text matches "ready"`, `absent`."""
        if self.op in {Op.EXISTS, Op.ABSENT}:
            there = "there" if self.op is Op.EXISTS else "absent"
            return f"{self.path} {there}" if self.path else there
        subject = self.path or ("text" if isinstance(about.body, str) else "object")
        return f"{subject} {self.op} {show(self.value)}"


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
        if not good:
            return failed(f"{document.name}: wanted {want.said(document)}, found {_found(document, value, want)}")
        tail = f", found {_shown(document, value)}" if want.path else ""
        return passed(f"{document.name}: {want.said(document)}{tail}")
    said = want.said(documents[0])
    if want.across is Across.EVERY:
        bad = [(document, value) for document, value, good in verdicts if not good]
        if bad:
            return failed(f"wanted {said} for every one, {_some(bad, verdicts)} not: {_listed(bad)}")
        return passed(f"{said} for {len(verdicts)} of {len(verdicts)}")
    hits = [
        (document, value)
        for document, value, good in verdicts
        if good and (value is not MISSING or want.op is Op.ABSENT)
    ]
    if hits:
        return failed(f"wanted {said} for none, {_some(hits, verdicts)}: {_listed(hits)}")
    return passed(f"{said} for none of {len(verdicts)}")


def _values(documents: Sequence[Document], path: str | None) -> list[tuple[Document, Any]]:
    if path is None:
        return [(document, document.body) for document in documents]
    compiled = compile_path(path)
    return [(document, value) for document in documents for value in compiled.values(document.body)]


def _some(some: Sequence[Any], whole: Sequence[Any]) -> str:
    return f"{len(some)} of {len(whole)} {'is' if len(some) == 1 else 'are'}"


def _found(document: Document, value: Any, want: Expectation) -> str:
    """What was there instead; an object that should not be there is not told as a whole."""
    return "it" if want.path is None and want.op is Op.ABSENT else _shown(document, value)


def _listed(items: Sequence[tuple[Document, Any]]) -> str:
    shown = ", ".join(f"{document.name} has {_shown(document, value)}" for document, value in items[:3])
    return shown + (", ..." if len(items) > 3 else "")


def _shown(document: Document, value: Any) -> str:
    return "a value that is not shown" if document.private and value is not MISSING else show(value)
