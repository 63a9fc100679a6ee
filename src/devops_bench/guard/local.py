"""kind, and infrastructure code (tofu, terraform): where does it act?"""

from __future__ import annotations

import posixpath
import shlex

from devops_bench.guard.reading import only_looks
from devops_bench.guard.types import Call, GuardContext, Refusal, Rule
from devops_bench.guard.words import Grammar, listed, parse

KIND = Grammar(values=listed("name kubeconfig config image verbosity nodes loglevel retain-dir"), letters="nv")
# Go's flag package: a flag takes the next argument only if it is known to have a value.
CODE = Grammar(
    values=listed("chdir state state-out backup var var-file target replace lock-timeout parallelism out"),
    one_dash=True,
)
_CODE_LOOKING = {"state": {"list", "show", "pull"}, "workspace": {"list", "show"}, "providers": {""}}
_CODE_CHANGES = listed("apply destroy refresh import taint untaint state force-unlock push test login")


def kind(call: Call, context: GuardContext) -> Refusal | None:
    """Clusters of kind on this host."""
    line = parse(call.args, KIND)
    words = line.words
    if only_looks("kind", words) or len(words) < 2:
        return None
    verb, what = words[0], words[1]
    if verb == "create" and what == "cluster":
        return call.refuse(Rule.NEW_CLUSTER, "it would make a new cluster")
    if verb == "delete" and what == "clusters":
        if line.has("all", "A"):
            return call.refuse(Rule.FOREIGN_CLUSTER, "it would delete all clusters")
        names = words[2:]
    elif (verb, what) in {("delete", "cluster"), ("load", "docker-image"), ("load", "image-archive")} or (
        verb == "export" and what == "kubeconfig"
    ):
        names = line.all("name", "n") or (call.env.get("KIND_CLUSTER_NAME") or "kind",)
    else:
        return None
    foreign = next((name for name in names if not context.owns_cluster(name)), None)
    if foreign is None:
        return None
    rule = Rule.FOREIGN_CONTEXT if verb == "export" else Rule.FOREIGN_CLUSTER
    return call.refuse(rule, f"cluster {foreign} is not of this task")


def code(call: Call, context: GuardContext) -> Refusal | None:
    """Infrastructure code is applied in the own folders only; where its state lies counts as well."""
    line = parse(_with_variables(call), CODE)
    words = line.words
    if only_looks(call.tool, words):
        return None
    if words[0] not in _CODE_CHANGES or (len(words) > 1 and words[1] in _CODE_LOOKING.get(words[0], ())):
        return None
    here = call.cwd or ""
    for folder in line.all("chdir"):
        here = posixpath.join(here, folder)
    states = (path for path in line.all("state", "state-out", "backup") if path not in {"", "-"})
    # An apply of a folder (older versions) or of a plan: the last word.
    places = [here, *(posixpath.join(here, path) for path in states)]
    if words[0] in {"apply", "destroy"} and len(words) > 1:
        places.append(posixpath.join(here, words[-1]))
    for place in places:
        if not posixpath.isabs(place):
            return call.refuse(Rule.OUTSIDE_WORKSPACE, "it cannot be told where it would act")
        if not context.owns_folder(place):
            return call.refuse(Rule.OUTSIDE_WORKSPACE, f"{posixpath.normpath(place)} is outside of this task's folders")
    return None


def _with_variables(call: Call) -> tuple[str, ...]:
    """The arguments together with those that variables add (TF_CLI_ARGS, TF_CLI_ARGS_apply ...)."""
    more: list[str] = []
    for name, value in call.env.items():
        if name.startswith("TF_CLI_ARGS"):
            try:
                more += [word for word in shlex.split(value) if word.startswith("-")]
            except ValueError:
                continue
    return (*call.args, *more)
