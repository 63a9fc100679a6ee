"""The history decides which turn comes next, whoever tells it and however it is split."""

from __future__ import annotations

import json

import pytest

from devops_bench.models.play import turn_for
from devops_bench.models.scenario import scenario
from devops_bench.models.wire import anthropic, call_id, google, openai_chat, openai_responses

GOOGLE = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [{"text": "t"}, {"functionCall": {"name": "a"}}, {"functionCall": {"name": "b"}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"output": "r1"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "b", "response": {"output": "r2"}}}]},
]
CHAT = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": [{"type": "text", "text": "go"}]},
    {"role": "assistant", "content": "t"},
    {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "a", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "x", "content": "r1"},
    {"role": "tool", "tool_call_id": "y", "content": [{"type": "text", "text": "r2"}]},
]
ANTHROPIC = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "text", "text": "t"}, {"type": "tool_use", "id": "x", "name": "a"}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "r1"}]},
            {"type": "tool_result", "tool_use_id": "y", "content": "r2"},
        ],
    },
]


def responses(*ids: str) -> list[dict]:
    """Each call beside its result, as some clients write parallel calls."""
    items: list[dict] = [{"role": "user", "content": [{"type": "input_text", "text": "go"}]}]
    items.append({"type": "reasoning", "summary": []})
    for at, identifier in enumerate(ids):
        items.append({"type": "function_call", "call_id": identifier, "name": "a", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": identifier, "output": f"r{at + 1}"})
    return items


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (google, {"contents": GOOGLE, "systemInstruction": {"parts": [{"text": "rules"}]}}),
        (openai_chat, {"messages": CHAT}),
        (anthropic, {"messages": ANTHROPIC, "system": [{"type": "text", "text": "rules"}]}),
        (openai_responses, {"input": responses(call_id(0, 0), call_id(0, 1)), "instructions": "rules"}),
    ],
    ids=["google", "openai", "anthropic", "openai-responses"],
)
def test_one_turn_of_parallel_calls_is_one_turn(wire, body) -> None:
    said = wire.read(body, "m", stream=False, size=10)
    assert (said.turns, said.prompt, said.results, said.system) == (1, "go", ("r1", "r2"), "rules")


def test_results_are_those_of_the_last_turn_only() -> None:
    items = responses(call_id(0, 0)) + responses(call_id(1, 0))[1:]
    said = openai_responses.read({"input": items}, "m", stream=False, size=10)
    assert (said.turns, said.results) == (2, ("r1",))


def test_a_text_input_is_a_prompt() -> None:
    said = openai_responses.read({"input": "go", "stream": True}, "m", stream=False, size=10)
    assert (said.turns, said.prompt, said.stream) == (0, "go", True)


def test_namespaced_tools_are_read() -> None:
    tools = [
        {"type": "namespace", "name": "mcp__k8s", "tools": [{"type": "function", "name": "pods_list"}]},
        {"type": "x"},
    ]
    said = openai_responses.read({"input": "go", "tools": tools}, "m", stream=False, size=10)
    assert [(tool.name, tool.namespace) for tool in said.tools] == [("pods_list", "mcp__k8s")]


def test_a_repeated_last_turn_never_ends() -> None:
    one = scenario("s", {"turns": ["a", {"shell": "date"}], "repeat_last": True})
    said = openai_chat.read({"messages": [{"role": "user", "content": "x"}]}, "m", stream=False, size=1)
    assert turn_for(one, said).text == "a"
    history = [{"role": role, "content": "x"} for _ in range(40) for role in ("user", "assistant")]
    later = openai_chat.read({"messages": history}, "m", stream=False, size=1)
    assert later.turns == 40 and turn_for(one, later).shell is not None


def test_a_task_without_section_is_not_known() -> None:
    one = scenario("s", {"sections": [{"when": "opa", "turns": ["I know"]}]})
    said = openai_chat.read({"messages": [{"role": "user", "content": "fix dns"}]}, "m", stream=False, size=1)
    assert turn_for(one, said).text == "I do not know this task."


def test_codex_gets_the_namespace_of_a_call_back() -> None:
    from devops_bench.models.wire import Finish, MadeCall, Reply, Tokens

    call = MadeCall("call_t0x0_1", "pods_list", {"a": 1}, "mcp__k8s")
    reply = Reply("1", "m", "", "", (call,), Tokens(1, 1), Finish.CALLS, 0)
    (item,) = openai_responses.whole(reply)["output"]
    assert (item["name"], item["namespace"], json.loads(item["arguments"])) == ("pods_list", "mcp__k8s", {"a": 1})
