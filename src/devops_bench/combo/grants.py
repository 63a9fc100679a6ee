"""Grants as facts: is what the configuration promises in the model's first request, and nothing else?

Pure functions of that request. A label without its grant (`+mcp` and no tool of the server, `+skills` and no skill) is
`grant-missing`; a tool or a skill that nobody granted is `grant-leaked`. Either makes the attempt invalid before a
token is spent: it would be another setup than its label says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from devops_bench.agents.base import Grants
from devops_bench.agents.frame.types import Surface
from devops_bench.combo.failure import Failure
from devops_bench.gateway.model.offers import provider_tools
from devops_bench.models.exchange import Exchange
from devops_bench.models.wire import Conversation, Offered
from devops_bench.plaintext import counted
from devops_bench.settings import FailureClass

MISSING, LEAKED = "grant-missing", "grant-leaked"
_SHOWN = 4
_LONG, _HEAD = 55, 28
# How the CLIs list skills to the model: a path that the model may read, an XML list, or a plain list under a heading.
_LISTED = (
    re.compile(r"/([A-Za-z0-9][\w.-]{0,80})/SKILL\.md"),
    re.compile(r"<skill>\s*<name>\s*([\w:.-]{1,80})\s*</name>"),
    re.compile(r"<available_skill[^>]*\bname=[\"']([\w:.-]{1,80})[\"']"),
)
_HEADING = re.compile(r"skills are available[^\n]{0,120}:\s*\n", re.I)
_ITEM = re.compile(r"\s*-\s+\**([A-Za-z0-9][\w:.-]{0,80})\**\s*:")


@dataclass(frozen=True, slots=True)
class Promise:
    """What the first request must hold: MCP tools under the CLI's own names, skill names; and what it may hold."""

    mcp: tuple[str, ...]
    skills: tuple[str, ...]
    may: frozenset[str]

    @classmethod
    def of(cls, surface: Surface, grants: Grants, skills: Sequence[str]) -> Promise:
        """From the adapter's tables and the attempt's grants. The server's tools are narrowed to AGENT_ALLOWED_TOOLS
        already; the agent's own are when it names one of them.
        """
        server = grants.mcp
        names = (
            {tool: surface.mcp_name.format(server=server.server, tool=tool) for tool in server.tools} if server else {}
        )
        allowed = frozenset(grants.allowed_tools)
        own = surface.builtin_tools | (surface.skill_tools if skills else frozenset())
        if server is not None:
            more: Iterable[str] = getattr(surface, "mcp_tools", ())
            own |= {name.replace("{server}", server.server) for name in more}
        if allowed & own:
            own = (own & allowed) | (surface.skill_tools if skills else frozenset())
        mcp = tuple(names.values())
        return cls(mcp, tuple(skills), own | frozenset(mcp))

    def spelled(self) -> frozenset[str]:
        """`may` in the spellings that requests are compared in."""
        return frozenset(form for name in self.may for form in _forms(name))


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with the grants; `signature` is grant-missing or grant-leaked, `text` one line that names it."""

    signature: str
    text: str

    def failure(self) -> Failure:
        """As the attempt's failure: of the setup, neither the model's nor to be tried again unchanged."""
        return Failure(FailureClass.SETUP, self.signature, self.text)


def check(promise: Promise, said: Conversation, body: bytes) -> Flaw | None:
    """The first flaw of a request; None when it offers what is promised and no more.

    A request without any tool is none of the agent's turns (CLIs also ask for a title): it is not judged.
    """
    document = _parsed(body)
    provided = list(dict.fromkeys(provider_tools(document)))
    if not said.tools and not provided:
        return None
    text = "\n".join(_strings(document)) if document is not None else body.decode(errors="replace")
    offered = [(tool, _spellings(tool)) for tool in said.tools]
    deferred = _deferred(document)
    there = {name for tool, names in offered if tool.name not in deferred for name in names}
    hidden = [name for name in promise.mcp if _plain(name) not in there]
    if hidden:
        how = f"{len(hidden)} of the MCP server's {counted(len(promise.mcp), 'tool')}"
        return Flaw(MISSING, f"+mcp: the model's first request lacks {how}: {_some(hidden)}")
    unseen = [name for name in promise.skills if not _word(name, text)]
    if unseen:
        return Flaw(MISSING, f"+skills: the model's first request does not name {_some(unseen)}")
    may = promise.spelled()
    extra = [_full(tool) for tool, names in offered if not names & may]
    extra += [name for name in provided if _plain(name) not in may]
    if extra:
        return Flaw(LEAKED, f"the model is offered tools that nobody granted: {_some(extra)}")
    stray = sorted({name for name in _skills_in(text) if name not in promise.skills})
    if stray:
        return Flaw(LEAKED, f"the model is shown skills that nobody granted: {_some(stray)}")
    return None


def stray(promise: Promise, names: Iterable[str]) -> str | None:
    """Why a request after the first one is turned down: it offers tools that nobody granted. None when it may pass.

    The agent holds the gateway's token and may send what it likes, so this is no flaw of the setup.
    """
    may = promise.spelled()
    extra = [name for name in names if not _forms(name) & may]
    return f"the request offers tools that nobody granted: {_some(extra)}" if extra else None


def strays(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """The requests that were turned down by `stray`."""
    return [one for one in exchanges if one.fault == "refused" and not one.own]


def _full(tool: Offered) -> str:
    return f"{tool.namespace}/{tool.name}" if tool.namespace else tool.name


def _spellings(tool: Offered) -> set[str]:
    return _forms(_full(tool))


def _forms(full: str) -> set[str]:
    """A namespaced tool under every spelling that an adapter may use for it."""
    namespace, slash, name = full.rpartition("/")
    if not slash:
        return {_plain(full)}
    return {_plain(form) for form in (full, f"{namespace}__{name}", f"{namespace}.{name}", f"{namespace}{name}")}


def _plain(name: str) -> str:
    """CLIs replace signs that providers refuse, and shorten long names in ways of their own: then the head counts."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return plain if len(plain) <= _LONG else plain[:_HEAD]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _parsed(body: bytes) -> object | None:
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found


def _deferred(document: object) -> set[str]:
    """Tools that are named but kept back until the model searches for them: it does not see what they do."""
    tools = document.get("tools") if isinstance(document, Mapping) else None
    listed = tools if isinstance(tools, list) else []
    return {str(tool.get("name")) for tool in listed if isinstance(tool, Mapping) and tool.get("defer_loading")}


def _strings(value: object) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack += reversed(item.values())
        elif isinstance(item, list):
            stack += reversed(item)


def _word(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _skills_in(text: str) -> Iterator[str]:
    """Names of the skills that a request lists, however the CLI writes its list."""
    for pattern in _LISTED:
        yield from pattern.findall(text)
    for heading in _HEADING.finditer(text):
        for line in text[heading.end() :].splitlines():
            if not line.strip():
                continue
            item = _ITEM.match(line)
            if item is None:
                break
            yield item.group(1)
