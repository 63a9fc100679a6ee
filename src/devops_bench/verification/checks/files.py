"""`file`: text or structure of a file in the workspace (`~/x`: in the agent's home)."""

from __future__ import annotations

from devops_bench.tasks.checks import FileCheck
from devops_bench.verification import confined, structured
from devops_bench.verification.matching import Document, Expectation, judge
from devops_bench.verification.scope import CannotEvaluate, Scope
from devops_bench.verification.verdict import Verdict, failed


def file(check: FileCheck, scope: Scope) -> Verdict:
    """Without a path the document is the text (its last line break left out); with one, the parsed content."""
    in_home = check.file.startswith("~/")
    root = scope.context.home if in_home else scope.context.workspace
    if root is None or not root.is_dir():
        raise CannotEvaluate("this combo has no workspace")
    name = check.file.removeprefix("~/")
    want = Expectation(check.path, check.op, check.value, check.across_matches)
    try:
        text = confined.read_file(root, name).decode(errors="replace")
        if check.path is None:
            return judge([Document(name, text.removesuffix("\n"))], want, "")
        parts = structured.parse(text, name)
    except confined.NotThere as error:
        return judge([], want, str(error))
    except (confined.NotPlain, structured.Unreadable) as error:
        return failed(str(error))
    several = len(parts) > 1
    found = [Document(f"{name}#{place}" if several else name, part) for place, part in enumerate(parts)]
    return judge(found, want, f"{name} is empty")
