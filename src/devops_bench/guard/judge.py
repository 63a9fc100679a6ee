"""One command line in, a refusal or nothing out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from devops_bench.guard import clouds, kube, local
from devops_bench.guard.types import Call, GuardContext, Refusal

_JUDGES: dict[str, Callable[[Call, GuardContext], Refusal | None]] = {
    "kubectl": kube.judge,
    "helm": kube.judge,
    "gcloud": clouds.gcloud,
    "aws": clouds.aws,
    "az": clouds.az,
    "kind": local.kind,
    "tofu": local.code,
    "terraform": local.code,
}
GUARDED = tuple(_JUDGES)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def judge_command(
    argv: Sequence[str],
    context: GuardContext,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str = "",
    configs: Mapping[str, str] | None = None,
) -> Refusal | None:
    """None when the command may run: it only looks, acts on what is the attempt's own, or is no guarded tool.

    `argv` may begin with assignments (`KUBECONFIG=x kubectl ...`). `env` is the command's environment, `cwd` its
    folder. `configs` are the texts of the kubeconfigs it would read, by path; without them paths and context names
    decide.
    """
    words = list(argv)
    variables = dict(env or {})
    while words and _ASSIGNMENT.match(words[0]):
        name, _sign, value = words.pop(0).partition("=")
        variables[name] = value
    if not words:
        return None
    tool = posixpath.basename(words[0])
    judge = _JUDGES.get(tool)
    if judge is None:
        return None
    return judge(Call(tool, tuple(words[1:]), variables, cwd, configs), context)
