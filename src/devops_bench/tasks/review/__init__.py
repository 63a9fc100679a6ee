"""Static review of tasks: fast, without a cluster. `RULES` is the table; each rule is one function with an id.

A rule looks at one `Subject` (a task as read, with its lines) and yields findings; rules about several tasks at once
look at all of them. `devops-bench tasks review` prints one line per finding, or GitHub annotations, or JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.tasks.catalogue import FoundTask
from devops_bench.tasks.review import fairness, parallel, shape, world
from devops_bench.tasks.review.subject import Finding, Hit, Subject, read_subject

__all__ = ["RULES", "Finding", "Rule", "annotation", "line", "review_tasks"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `look` for a single task, or `look_all` for all of them together."""

    id: str
    about: str
    look: Callable[[Subject], Iterator[Hit]] | None = None
    look_all: Callable[[Sequence[Subject]], Iterator[tuple[Subject, Hit]]] | None = None


RULES: tuple[Rule, ...] = (
    Rule("task-unreadable", "task.yaml or cluster.yaml does not load", shape.unreadable),
    Rule("entry-unreadable", "a verification entry does not load; it would count as unmet", shape.entry_unreadable),
    Rule("no-objective", "nothing to solve", shape.no_objective),
    Rule("no-safeguard", "nothing that must not be harmed", shape.no_safeguard),
    Rule("group-unknown", "an entry names a group that check_groups does not have", shape.group_unknown),
    Rule("weight-extreme", "one weight decides alone", shape.weight_extreme),
    Rule("duration", "a duration that cannot be read", shape.duration),
    Rule("provider-unknown", "a cluster provider that does not exist", shape.provider_unknown),
    Rule("check-unserved", "a check that the task's provider cannot serve", shape.check_unserved),
    Rule("no-namespace", "a check of a namespaced kind without namespace", shape.no_namespace),
    Rule("tautology", "a check that always passes", shape.tautology),
    Rule("documents", "README.md, solution/ or wrong/ is missing", world.documents),
    Rule("setup-file", "a file in setup/ that is not applied, waited for or run", world.setup_file),
    Rule("telling-name", "an object of setup whose name or label gives the fault away", fairness.telling_name),
    Rule("harness-name", "a text that an agent sees speaks of the harness", fairness.harness_name),
    Rule("host-path", "a fixed path on the host, shared by copies", parallel.host_path),
    Rule("fixed-port", "a fixed port on the host, shared by copies", parallel.fixed_port),
    Rule("shared-name", "a name that copies in one cluster or project would share", parallel.shared_name),
    Rule("project-iam", "a stack that grants project rights to a shared service account", parallel.project_iam),
    Rule("duplicate-id", "two tasks with one task_id", look_all=parallel.duplicate_id),
    Rule("duplicate-folder", "two task folders with one name", look_all=parallel.duplicate_folder),
    Rule("proof", "validated: true, but the stored proof is missing, failed or of other files", world.proof),
)


def review_tasks(found: Sequence[FoundTask], rules: Sequence[Rule] = RULES) -> list[Finding]:
    """All findings, by file and line."""
    subjects = [read_subject(task) for task in found]
    findings: list[Finding] = []
    for rule in rules:
        if rule.look is not None:
            for subject in subjects:
                findings += [Finding.of(rule.id, hit, subject) for hit in rule.look(subject)]
        if rule.look_all is not None:
            findings += [Finding.of(rule.id, hit, subject) for subject, hit in rule.look_all(subjects)]
    return sorted(findings, key=lambda item: (str(item.path), item.line, item.rule))


def line(finding: Finding, base: Path) -> str:
    """`path:line: rule: what; fix`, the path relative to `base` where it can be."""
    path = finding.path.relative_to(base) if finding.path.is_relative_to(base) else finding.path
    return f"{path}:{finding.line}: {finding.rule}: {finding.what}" + (f"; {finding.fix}" if finding.fix else "")


def annotation(finding: Finding) -> str:
    """A GitHub workflow command that puts the finding on its line."""
    base = Path.cwd()
    path = finding.path.relative_to(base) if finding.path.is_relative_to(base) else finding.path
    text = finding.what + (f"; {finding.fix}" if finding.fix else "")
    return f"::error file={_property(str(path))},line={finding.line},title={_property(finding.rule)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
