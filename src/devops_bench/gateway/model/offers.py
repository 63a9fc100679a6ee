"""What a request offers to its model, and whose it is: the CLI's own, or one that the agent made by hand.

The agent has the gateway's address and token. Before its model's first reply it cannot act, so the first request that
offers tools is the CLI's. A later one of another kind is answered, recorded and counted, but ends no run: an agent that
fails could else void its attempt with three bad requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from devops_bench.models.http import Request
from devops_bench.models.replies.draft import items, mapping
from devops_bench.models.wire import Heading

# Tools that a provider runs by itself have no declaration. Gemini names them by a key beside this one ...
_FUNCTIONS = frozenset({"functionDeclarations", "function_declarations"})
# ... OpenAI by a type without a name, except for these, or by an option (so do others) ...
_NAMED_TYPES = frozenset({"function", "namespace"})
_OPTIONS = ("web_search_options", "mcp_servers", "plugins")
# ... Anthropic by a type with a date, and a name that a function could have, too.
_SERVER_TYPES = ("web_search", "web_fetch", "code_execution", "mcp_toolset")

Print = tuple[frozenset[str], str]


def offered(said: Heading, document: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything that a request offers: functions (`namespace/name`), then the provider's own tools."""
    functions = [f"{tool.namespace}/{tool.name}" if tool.namespace else tool.name for tool in said.tools]
    return tuple(dict.fromkeys([*functions, *provider_tools(document)]))


def provider_tools(document: object) -> Iterator[str]:
    """Tools that the provider itself runs (web search, code): no answer of ours passes them."""
    told = mapping(document)
    for tool in items(told.get("tools")):
        kind = tool.get("type")
        if kind is None and "name" not in tool:
            yield from (str(key) for key in tool if key not in _FUNCTIONS)
        elif ("name" not in tool and kind not in _NAMED_TYPES) or str(kind).startswith(_SERVER_TYPES):
            yield str(kind)
    # An empty object is how OpenAI's search is asked for with its defaults.
    yield from (key for key in _OPTIONS if told.get(key) not in (None, False, []))


def fingerprint(names: tuple[str, ...], request: Request) -> Print:
    """By what a CLI's turns are known: what they offer, and the program that asks."""
    return frozenset(names), request.headers.get("user-agent", "")
