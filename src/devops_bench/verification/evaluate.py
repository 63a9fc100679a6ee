"""One evaluation of one check: dispatch by type, groups by their algebra, and every failure to look as an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from devops_bench.errors import BenchError
from devops_bench.tasks.checks import Check, Group
from devops_bench.tasks.spec import Entry
from devops_bench.verification.bounded import side_by_side
from devops_bench.verification.checks.access import access
from devops_bench.verification.checks.audit import audit
from devops_bench.verification.checks.commands import command
from devops_bench.verification.checks.dry_run import dry_run
from devops_bench.verification.checks.files import file
from devops_bench.verification.checks.git import git_repo_sync
from devops_bench.verification.checks.identity import identity_preserved
from devops_bench.verification.checks.reachable import reachable
from devops_bench.verification.checks.resources import resource_property
from devops_bench.verification.checks.scripts import answer, script
from devops_bench.verification.checks.workloads import pod_healthy, scaling_complete
from devops_bench.verification.ops import BadExpectation
from devops_bench.verification.scope import CannotEvaluate, Scope
from devops_bench.verification.verdict import (
    Status,
    Verdict,
    conjunction,
    disjunction,
    errored,
    rejection,
)

CHECKS: dict[str, Callable[[Any, Scope], Verdict]] = {
    "resource_property": resource_property,
    "pod_healthy": pod_healthy,
    "scaling_complete": scaling_complete,
    "identity_preserved": identity_preserved,
    "git_repo_sync": git_repo_sync,
    "audit": audit,
    "file": file,
    "command": command,
    "dry_run": dry_run,
    "reachable": reachable,
    "access": access,
    "script": script,
    "answer": answer,
}

_COMBINE = {"sequence": conjunction, "parallel": conjunction, "all": conjunction, "any": disjunction, "none": rejection}


def evaluate(check: Check, scope: Scope) -> Verdict:
    """The verdict of a check now. Never raises; what cannot be evaluated is an error with its reason."""
    label = check.name or check.type
    if isinstance(check, Group):
        return _group(check, scope).labelled(label)
    function = CHECKS.get(check.type)
    if function is None:
        return errored("no cluster provider of this kind can serve this check").labelled(label)
    try:
        verdict = function(check, scope)
    except CannotEvaluate as error:
        verdict = errored(str(error))
    except BenchError as error:
        verdict = errored(error.what)
    except (BadExpectation, ValueError) as error:
        verdict = errored(str(error))
    except Exception as error:
        # A slip of ours over an unforeseen object must cost this check only, and never look like the agent's failure.
        verdict = errored(f"{type(error).__name__} while it was evaluated: {error}")
    return verdict.labelled(label)


def _group(group: Group, scope: Scope) -> Verdict:
    if group.type == "sequence":
        done: list[Verdict] = []
        for child in group.checks:
            done.append(evaluate(child, scope))
            if done[-1].status is not Status.PASS:
                break
        return conjunction(done)
    tasks = [(child.name or child.type, partial(evaluate, child, scope)) for child in group.checks]
    return _COMBINE[group.type](side_by_side(tasks, scope.deadline))


def evaluate_entry(entry: Entry, scope: Scope) -> Verdict:
    """The verdict of an entry's check now."""
    return evaluate(entry.check, scope)
