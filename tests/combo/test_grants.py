"""What the model's first request must offer, and what it must not: tables over the shapes that the CLIs send."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devops_bench.agents.base import Grants, McpGrant
from devops_bench.combo.grants import LEAKED, MISSING, Promise, check, stray
from devops_bench.models.wire import Conversation, Offered
from devops_bench.settings import FailureClass

TOOLS = ("pods_list", "resources_get", "events_list")


@dataclass
class Surface:
    mcp_name: str = "mcp__{server}__{tool}"
    builtin_tools: frozenset[str] = frozenset({"Bash", "Read", "Edit"})
    skill_tools: frozenset[str] = frozenset({"Skill"})
    mcp_tools: frozenset[str] = field(default_factory=frozenset)


def grants(mcp: bool = True, allowed: Sequence[str] = (), tools: tuple[str, ...] = TOOLS) -> Grants:
    server = McpGrant("k8s", ("relay",), ("127.0.0.1", 1), "token", tools) if mcp else None
    return Grants(server, (Path("/skills"),), tuple(allowed))


def request(
    *tools: str | Offered, system: str = "You are an agent.", prompt: str = "Fix it."
) -> tuple[Conversation, bytes]:
    offered = tuple(tool if isinstance(tool, Offered) else Offered(tool) for tool in tools)
    said = Conversation("m", offered, True, 100, prompt, 0, (), system)
    body = {
        "system": system,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": t.name} for t in offered],
    }
    return said, json.dumps(body).encode()


MCP = tuple(f"mcp__k8s__{tool}" for tool in TOOLS)
XML = "<available_skills><skill><name>rollout</name><description>d</description></skill></available_skills>"
LISTED = (
    "The following skills are available for use with the Skill tool:\n\n- rollout: how to\n- **second**: other\n\nEnd"
)


@pytest.mark.parametrize(
    ("surface", "given", "skills", "asked"),
    [
        pytest.param(Surface(), grants(False), [], request("Bash", "Read"), id="baseline"),
        pytest.param(Surface(), grants(), [], request("Bash", *MCP), id="mcp"),
        pytest.param(
            Surface(),
            grants(False),
            ["rollout"],
            request("Bash", "Skill", system=LISTED.replace("- **second**: other\n", "")),
            id="skills, listed",
        ),
        pytest.param(Surface(), grants(False), ["rollout"], request("Bash", system=XML), id="skills, XML"),
        pytest.param(
            Surface(),
            grants(False),
            ["rollout"],
            request("Bash", prompt="- rollout: x (file: /h/rollout/SKILL.md)"),
            id="skills, path",
        ),
        pytest.param(Surface(), grants(), ["rollout"], request("Bash", "Skill", *MCP, system=XML), id="both"),
        pytest.param(
            Surface(mcp_name="mcp__{server}/{tool}", mcp_tools=frozenset({"list_mcp_resources"})),
            grants(),
            [],
            request("Bash", "list_mcp_resources", *(Offered(t, namespace="mcp__k8s") for t in TOOLS)),
            id="namespace",
        ),
        pytest.param(
            Surface(),
            grants(allowed=["pods_list"], tools=("pods_list",)),
            [],
            request("Bash", "mcp__k8s__pods_list"),
            id="allowed MCP tool",
        ),
        pytest.param(Surface(), grants(False, ["Bash"]), [], request("Bash"), id="allowed builtin tool"),
        pytest.param(Surface(), grants(), ["rollout"], request(), id="a request without tools is nobody's turn"),
    ],
)
def test_what_is_promised_and_no_more(
    surface: Surface, given: Grants, skills: list[str], asked: tuple[Conversation, bytes]
) -> None:
    assert check(Promise.of(surface, given, skills), *asked) is None


@pytest.mark.parametrize(
    ("given", "skills", "asked", "signature", "named"),
    [
        pytest.param(grants(), [], request("Bash"), MISSING, "mcp__k8s__pods_list", id="MCP tools hidden"),
        pytest.param(
            grants(), [], request("Bash", *MCP[:2]), MISSING, "mcp__k8s__events_list", id="one MCP tool hidden"
        ),
        pytest.param(
            grants(), [], request("Bash", "ToolSearch"), MISSING, "mcp__k8s", id="tool search instead of schemas"
        ),
        pytest.param(grants(False), [], request("Bash", *MCP), LEAKED, "mcp__k8s__pods_list", id="MCP in a baseline"),
        pytest.param(grants(False), [], request("Bash", "WebFetch"), LEAKED, "WebFetch", id="a web tool"),
        pytest.param(grants(False), [], request("Bash", "Skill"), LEAKED, "Skill", id="the skill tool in a baseline"),
        pytest.param(grants(False), ["rollout"], request("Bash", "Skill"), MISSING, "rollout", id="skill not shown"),
        pytest.param(
            grants(False), ["roll"], request("Bash", system=XML), MISSING, "roll", id="part of a word is no name"
        ),
        pytest.param(grants(False), [], request("Bash", system=XML), LEAKED, "rollout", id="bundled skill, XML"),
        pytest.param(
            grants(False),
            [],
            request("Bash", system="read /opt/x/creator/SKILL.md"),
            LEAKED,
            "creator",
            id="bundled skill, path",
        ),
        pytest.param(
            grants(False),
            ["rollout"],
            request("Bash", "Skill", system=LISTED),
            LEAKED,
            "second",
            id="bundled skill beside a granted one",
        ),
        pytest.param(
            grants(allowed=["pods_list"], tools=("pods_list",)),
            [],
            request("Bash", *MCP),
            LEAKED,
            "mcp__k8s__resources_get",
            id="more MCP tools than allowed",
        ),
        pytest.param(
            grants(False, ["Bash"]), [], request("Bash", "Edit"), LEAKED, "Edit", id="more builtin tools than allowed"
        ),
    ],
)
def test_what_is_missing_and_what_leaks_is_named(
    given: Grants, skills: list[str], asked: tuple[Conversation, bytes], signature: str, named: str
) -> None:
    flaw = check(Promise.of(Surface(), given, skills), *asked)
    assert flaw is not None
    assert flaw.signature == signature
    assert named in flaw.text
    failure = flaw.failure()
    assert failure.klass is FailureClass.SETUP
    assert not failure.transient


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"tools": [{"functionDeclarations": [{"name": "Bash"}]}, {"googleSearch": {}}]}, "googleSearch"),
        ({"tools": [{"type": "function", "name": "Bash"}, {"type": "web_search"}]}, "web_search"),
        ({"tools": [{"type": "function", "function": {"name": "Bash"}}], "web_search_options": {"x": 1}}, "web_search"),
        ({"tools": [{"name": "Bash"}], "mcp_servers": [{"url": "https://x"}]}, "mcp_servers"),
    ],
)
def test_tools_that_the_provider_runs_itself_leak_too(body: dict[str, object], named: str) -> None:
    said, _ = request("Bash")
    flaw = check(Promise.of(Surface(), grants(False), []), said, json.dumps(body).encode())
    assert flaw is not None and flaw.signature == LEAKED
    assert named in flaw.text


def test_a_tool_that_has_to_be_searched_for_first_is_not_offered() -> None:
    said, _ = request("Bash", *MCP)
    tools = [{"name": "Bash"}, *({"name": name, "defer_loading": True} for name in MCP)]
    flaw = check(Promise.of(Surface(), grants(), []), said, json.dumps({"tools": tools}).encode())
    assert flaw is not None and flaw.signature == MISSING


def test_names_that_a_cli_had_to_change_are_still_the_server_s() -> None:
    long = "a_tool_with_a_name_that_no_provider_would_take_because_it_is_too_long"
    promise = Promise.of(Surface(), grants(tools=("pods.list", long)), [])
    assert check(promise, *request("Bash", "mcp__k8s__pods_list", f"mcp__k8s__{long}"[:55] + "_1a2b3c4d")) is None
    flaw = check(promise, *request("Bash", "mcp__k8s__pods_list"))
    assert flaw is not None and long in flaw.text


def test_a_prompt_that_talks_of_skills_lists_none() -> None:
    asked = request(
        "Bash", prompt="My skills are: cooking. Write SKILL.md files? No. skills are available to all:\n\nnone"
    )
    assert check(Promise.of(Surface(), grants(False), []), *asked) is None


def test_a_body_that_is_no_json_is_still_searched() -> None:
    said, _ = request("Bash")
    assert check(Promise.of(Surface(), grants(False), ["rollout"]), said, b"\xff rollout \x00") is None


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("Bash", *MCP), None),
        (("Bash",), None),
        (tuple(f"mcp__k8s/{tool}" for tool in TOOLS), None),
        (("Bash", "WebFetch"), "WebFetch"),
        (("google_search",), "google_search"),
        (("web_search_options",), "web_search_options"),
    ],
)
def test_a_later_request_may_offer_less_but_nothing_else(names: tuple[str, ...], told: str | None) -> None:
    said = stray(Promise.of(Surface(), grants(), []), names)
    assert said is None if told is None else said is not None and told in said


def test_a_first_request_with_nothing_but_a_provider_s_tool_is_a_leak() -> None:
    said, _ = request()
    flaw = check(
        Promise.of(Surface(), grants(False), []), said, json.dumps({"tools": [{"google_search": {}}]}).encode()
    )
    assert flaw is not None and flaw.signature == LEAKED and "google_search" in flaw.text
