"""MCP tools: which ones change something, and where?

Names differ from server to server, so words decide: `clusters_delete`, `delete_cluster` and `deleteCluster` are one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from devops_bench.guard.judge import GUARDED, judge_command
from devops_bench.guard.types import Call, GuardContext, Refusal, Rule
from devops_bench.guard.watch import scan_log_line, scan_script
from devops_bench.guard.words import listed

_CHANGING = listed(
    "create update delete upgrade apply patch set scale install uninstall rollback exec run cancel start complete drain"
    " cordon uncordon taint label annotate restart replace edit evict remove add resize rotate move destroy write put"
    " modify enable disable attach detach debug cp copy import register"
)
_MAKING = frozenset(["create", "import", "register"])
_CLUSTER_WORDS = frozenset(["cluster", "clusters", "nodepool", "nodepools", "nodegroup", "nodegroups"])
_CONTEXT_ARGS = frozenset(["context", "kubecontext", "kubeconfigcontext", "contextname"])
_CONFIG_ARGS = frozenset(["kubeconfig", "kubeconfigpath"])
_SERVER_ARGS = frozenset(["server", "apiserver", "masterurl"])
_CLUSTER_ARGS = frozenset(["cluster", "clustername", "clusterid"])
_COMMAND_ARGS = frozenset(["command", "cmd", "args", "argv", "script"])
_SHELLS = frozenset(["sh", "bash", "dash", "zsh"])
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_DEPTH = 8


def judge_tool(server: str, tool: str, args: Mapping[str, Any], context: GuardContext) -> Refusal | None:
    """None when the tool only looks or acts on what is the attempt's own.

    `args` are the call's arguments. A tool that takes a whole command line (`kubectl`, `command`) is judged by it.
    """
    words = tuple(word.lower() for word in _WORD.findall(tool))
    call = Call(f"{server}/{tool}", (json.dumps(dict(args), default=str, sort_keys=True),))
    inner = _command(words, args, context)
    if inner is not None:
        return call.refuse(inner.rule, inner.reason)
    if not _CHANGING.intersection(words):
        return None
    found = list(_named(args))
    joined = "".join(words)
    about_clusters = bool(_CLUSTER_WORDS.intersection(words)) or "nodepool" in joined or "nodegroup" in joined
    pools = "pool" in joined or "nodegroup" in joined
    if about_clusters and "role" not in words and "namespace" not in words:
        if _MAKING.intersection(words) and not pools:
            return call.refuse(Rule.NEW_CLUSTER, "it would make a new cluster")
        names = [value for name, value in found if name in _CLUSTER_ARGS]
        if not names:
            paths = [value for name, value in found if name in {"name", "parent"} and "/clusters/" in value]
            names = [_cluster_part(path) for path in paths]
        if not names and not pools and isinstance(args.get("name"), str):
            names = [str(args["name"])]
        if not names:
            return call.refuse(Rule.FOREIGN_CLUSTER, "it does not name its cluster")
        return _first_foreign(call, names, context)
    for name, value in found:
        if name in _CONTEXT_ARGS and value and value not in context.contexts:
            return call.refuse(Rule.FOREIGN_TARGET, f"context {value} is not of this task")
        if name in _SERVER_ARGS and "://" in value and not context.owns_server(value):
            return call.refuse(Rule.FOREIGN_TARGET, f"{value} is not this task's API server")
        if name in _CONFIG_ARGS and value not in {"", f"{context.home}/.kube/config"}:
            return call.refuse(Rule.FOREIGN_TARGET, f"the kubeconfig {value[:200]} is not the one of this task")
        if name in _CLUSTER_ARGS and value and value not in context.contexts and not context.owns_cluster(value):
            return call.refuse(Rule.FOREIGN_TARGET, f"cluster {value} is not of this task")
        if name == "parent" and "/clusters/" in value and not context.owns_cluster(_cluster_part(value)):
            return call.refuse(Rule.FOREIGN_TARGET, f"cluster {_cluster_part(value)} is not of this task")
    return None


def scan_call(tool: str, args: Mapping[str, Any], context: GuardContext) -> Iterator[Refusal]:
    """What an agent's own tool call (a shell, `kubectl`) asked for and must not: found in its transcript afterwards."""
    program = tool if tool in GUARDED else None
    for value in _commands_in(args):
        if isinstance(value, list):
            words = [str(item) for item in value]
            if len(words) > 2 and words[0].rpartition("/")[2] in _SHELLS and words[1].startswith("-"):
                yield from scan_script(words[2], context)
                continue
            text = shlex.join(words)
        elif isinstance(value, str):
            text = value
        else:
            continue
        yield from scan_script(_of(program, text), context)


def _first_foreign(call: Call, names: list[str], context: GuardContext) -> Refusal | None:
    foreign = next((name for name in names if not context.owns_cluster(name)), None)
    return call.refuse(Rule.FOREIGN_CLUSTER, f"cluster {foreign} is not of this task") if foreign is not None else None


def _cluster_part(path: str) -> str:
    """`projects/p/locations/l/clusters/NAME/nodePools/x` -> NAME; anything else as it is."""
    _head, mark, tail = path.partition("/clusters/")
    return tail.partition("/")[0] if mark else path


def _command(words: tuple[str, ...], args: Mapping[str, Any], context: GuardContext) -> Refusal | None:
    for value in _commands_in(args):
        line = [str(item) for item in value] if isinstance(value, list) else None
        text = str(value) if line is None else ""
        tool = next((known for known in GUARDED if known in words), None)
        if line is not None:
            full = line if tool is None or line[:1] == [tool] else [tool, *line]
            refusal = judge_command(full, context)
        else:
            refusal = scan_log_line(_of(tool, text), context)
        if refusal is not None:
            return refusal
    return None


def _commands_in(args: Mapping[str, Any]) -> Iterator[Any]:
    """The values of arguments that are commands."""
    return (value for name, value in args.items() if _plain(name) in _COMMAND_ARGS)


def _of(program: str | None, text: str) -> str:
    """The command line of a tool that is called like its program, with or without that name in front."""
    return text if program is None or text.split()[:1] == [program] else f"{program} {text}"


def _named(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every (name, text) in the arguments, names in one spelling; deeper than a few levels nothing is a target."""
    if depth > _DEPTH:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield _plain(name), inner
            else:
                yield from _named(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, depth + 1)


def _plain(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()
