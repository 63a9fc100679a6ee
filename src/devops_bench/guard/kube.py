"""kubectl and helm: which API server would this command change, and is it the attempt's own?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import Any

from devops_bench.guard.reading import only_looks
from devops_bench.guard.types import Call, GuardContext, Refusal, Rule
from devops_bench.guard.words import listed

LARGEST_CONFIG = 64 << 10
# An anchor or an alias. No kubeconfig needs one, and a few lines of them, or merges of them, would fill the memory.
_ALIAS = re.compile(r"(?:^|[\s\[{,:])[&*]\S", re.MULTILINE)
# Options of the root commands that take no value; cobra lets every other one before the command take the next argument.
_FLAGS = listed(
    "insecure-skip-tls-verify match-server-version warnings-as-errors disable-compression help"
    " debug kube-insecure-skip-tls-verify"
)
_ANYWHERE = ("context", "kube-context", "kubeconfig", "server", "kube-apiserver", "cluster")


@dataclass(frozen=True, slots=True)
class Names:
    """How a tool calls the options and variables that choose its target."""

    context: str
    server: str
    context_env: str = ""
    server_env: str = ""


NAMES = {
    "kubectl": Names("context", "server"),
    "helm": Names("kube-context", "kube-apiserver", "HELM_KUBECONTEXT", "HELM_KUBEAPISERVER"),
}


def judge(call: Call, context: GuardContext) -> Refusal | None:
    """Refuse a change of a foreign API server, and what points the kubeconfig at one."""
    words = command_words(call.args)
    if only_looks(call.tool, words):
        return None
    if call.tool == "kubectl" and words[0] == "config":
        return _config(call, words, context)
    if call.tool == "helm" and words[0] in {"repo", "dependency", "dep", "pull", "fetch", "package", "create"}:
        return None
    reason = _foreign(call, context)
    return call.refuse(Rule.FOREIGN_TARGET, reason) if reason else None


def command_words(args: tuple[str, ...]) -> tuple[str, ...]:
    """The words among `args` as cobra finds a command: an unknown option swallows the argument after it."""
    words = []
    todo = list(args)
    while todo:
        arg = todo.pop(0)
        if arg == "--":
            break
        if not arg.startswith("-"):
            words += [arg] if arg else []
        elif "=" in arg:
            continue
        elif (arg.startswith("--") and arg[2:].replace("_", "-") not in _FLAGS) or (len(arg) == 2 and arg != "-h"):
            todo = todo[1:]
    return tuple(words)


def _foreign(call: Call, context: GuardContext) -> str | None:
    """Why the target is not the own cluster; None when it is."""
    names = NAMES[call.tool]
    given = _targets(call.args)
    servers = [*given[names.server], *_env(call, names.server_env)]
    foreign = next((url for url in servers if not context.owns_server(url)), None)
    if foreign is not None:
        return f"{foreign} is not this task's API server"
    if servers:
        return None
    if not context.server and not context.contexts:
        return "this task has no cluster"
    wanted = [*given[names.context], *_env(call, names.context_env)]
    if call.configs is not None:
        clusters = given["cluster"] if call.tool == "kubectl" else []
        return _server_in(tuple(call.configs.values()), wanted, clusters, context)
    files = given["kubeconfig"] or [path for path in call.env.get("KUBECONFIG", "").split(":") if path]
    own = {f"{context.home}/.kube/config", "~/.kube/config", "$HOME/.kube/config"}
    other = next((path for path in files if path not in own), None)
    if other is not None:
        return f"the kubeconfig {other} is not the one of this task"
    return next((f"context {name} is not of this task" for name in wanted if name not in context.contexts), None)


def _server_in(texts: tuple[str, ...], wanted: list[str], clusters: list[str], context: GuardContext) -> str | None:
    if not any(texts):
        return None  # nothing to read: the command itself will say so
    config = _merged(texts)
    if config is None:
        return "the kubeconfig cannot be read"
    names = wanted or [config.current]
    for name in names:
        picked = clusters or [config.contexts.get(name, "")]
        for cluster in picked:
            server = config.servers.get(cluster)
            if server is None:
                return f"context {name or '(none)'} leads to no known server" if config.servers else None
            if not context.owns_server(server):
                return f"{server} is not this task's API server"
    return None


@dataclass(frozen=True, slots=True)
class _Config:
    current: str
    contexts: Mapping[str, str]
    servers: Mapping[str, str]


@lru_cache(maxsize=32)
def _merged(texts: tuple[str, ...]) -> _Config | None:
    """Several kubeconfigs as kubectl merges them: the first that says something wins."""
    current, contexts, servers = "", dict[str, str](), dict[str, str]()
    for text in texts:
        if not text.strip():
            continue
        data = _load(text)
        if data is None:
            return None
        try:
            current = current or str(data.get("current-context") or "")
            for item in data.get("contexts") or []:
                contexts.setdefault(str(item["name"]), str((item.get("context") or {}).get("cluster", "")))
            for item in data.get("clusters") or []:
                servers.setdefault(str(item["name"]), str((item.get("cluster") or {}).get("server", "")))
        except (TypeError, KeyError, AttributeError):
            return None
    return _Config(current, contexts, servers)


def _load(text: str) -> dict[str, Any] | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > LARGEST_CONFIG or _ALIAS.search(text):
        return None
    try:
        # The parser in C is faster, but dies of deep nesting, and this process with it.
        data = YAML(typ="safe", pure=True).load(StringIO(text))
    except (YAMLError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _targets(args: tuple[str, ...]) -> dict[str, list[str]]:
    """Every value of a target option, wherever it stands before `--`: which one counts is the program's business."""
    found: dict[str, list[str]] = {name: [] for name in _ANYWHERE}
    for at, arg in enumerate(args):
        if arg == "--":
            break
        following = args[at + 1] if at + 1 < len(args) else ""
        if arg.startswith("--"):
            name, sign, value = arg[2:].partition("=")
            name = name.replace("_", "-")
            if name in found:
                found[name].append(value if sign else following)
        elif arg.startswith("-"):
            head, letter, tail = arg[1:].partition("s")
            if letter and all(char in "AitwhRq" for char in head):
                found["server"].append(tail.removeprefix("=") or following)
    return found


def _env(call: Call, name: str) -> list[str]:
    value = call.env.get(name, "") if name else ""
    return [value] if value else []


def _config(call: Call, line: tuple[str, ...], context: GuardContext) -> Refusal | None:
    """`kubectl config`: everything but pointing at a foreign cluster."""
    verb, words = (line[1] if len(line) > 1 else ""), line[2:]
    if verb in {"use-context", "use"}:
        for name in words:
            reason = _context_reason(call, name, context)
            if reason:
                return call.refuse(Rule.FOREIGN_CONTEXT, reason)
    servers = _targets(call.args)["server"] if verb == "set-cluster" else []
    if verb == "set" and len(words) > 1:
        field = words[0].lower()
        if field.startswith("clusters.") and field.endswith(".server"):
            servers.append(words[1])
        if field == "current-context":
            reason = _context_reason(call, words[1], context)
            if reason:
                return call.refuse(Rule.FOREIGN_CONTEXT, reason)
    foreign = next((url for url in servers if not context.owns_server(url)), None)
    if foreign is not None:
        return call.refuse(Rule.FOREIGN_CONTEXT, f"{foreign} is not this task's API server")
    return None


def _context_reason(call: Call, name: str, context: GuardContext) -> str | None:
    if call.configs is not None and any(call.configs.values()):
        return _server_in(tuple(call.configs.values()), [name], [], context)
    return None if name in context.contexts else f"context {name} is not of this task"
