"""The vendors' client libraries, brought to one shape: ask with a history, get an Answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
FILE = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("action", "path", "content", "old", "new")},
    "required": ["action", "path"],
}
TOOLS = {"bash": SHELL, "file": FILE}


@dataclass
class Answer:
    """What a client understood."""

    text: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    thinking: str = ""
    finish: str = ""
    tokens: tuple[int, int] = (0, 0)
    cached: int = 0
    id: str = ""
    model: str = ""
    raw: Any = None


class Client:
    """One client and its conversation."""

    error: type[Exception]

    def __init__(self, base_url: str, model: str, key: str = "any", **more: Any) -> None:
        self.model = model
        self.history: list[Any] = []
        self.tools = True
        self.make(base_url, key, **more)

    def make(self, base_url: str, key: str, **more: Any) -> None:
        raise NotImplementedError

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.sdk.close()

    def user(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    def status(self, error: Exception) -> int:
        return error.status_code

    def play(self, prompt: str, stream: bool, results: list[list[str]]) -> list[Answer]:
        """A whole conversation: after each answer with calls the next results are handed in."""
        self.user(prompt)
        answers = [self.ask(stream)]
        for texts in results:
            self.reply(answers[-1], texts)
            answers.append(self.ask(stream))
        return answers


class Google(Client):
    error = genai.errors.APIError

    def make(self, base_url: str, key: str, **more: Any) -> None:
        options = types.HttpOptions(base_url=base_url, timeout=more.get("timeout", 60) * 1000)
        self.sdk = genai.Client(api_key=key, http_options=options)

    def status(self, error: Any) -> int:
        return error.code

    def user(self, text: str) -> None:
        self.history.append(types.UserContent(parts=[types.Part(text=text)]))

    def ask(self, stream: bool) -> Answer:
        declared = [
            types.FunctionDeclaration(name=name, description=name, parameters_json_schema=schema)
            for name, schema in TOOLS.items()
        ]
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declared)] if self.tools else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        asked = {"model": self.model, "contents": self.history, "config": config}
        responses = (
            list(self.sdk.models.generate_content_stream(**asked))
            if stream
            else [self.sdk.models.generate_content(**asked)]
        )
        answer, parts = Answer(raw=responses), []
        for response in responses:
            assert response.response_id
            answer.id, answer.model = response.response_id, response.model_version or ""
            candidate = response.candidates[0]
            for part in (candidate.content.parts if candidate.content else None) or []:
                parts.append(part)
                if part.function_call:
                    call = part.function_call
                    answer.calls.append((call.id, call.name, dict(call.args)))
                elif part.thought:
                    answer.thinking += part.text
                else:
                    answer.text += part.text
            if candidate.finish_reason:
                answer.finish = candidate.finish_reason.value
            if response.usage_metadata:
                usage = response.usage_metadata
                output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
                assert usage.total_token_count == usage.prompt_token_count + output
                answer.tokens = (usage.prompt_token_count, output)
                answer.cached = usage.cached_content_token_count or 0
        self.history.append(types.ModelContent(parts=parts or [types.Part(text="")]))
        return answer

    def reply(self, answer: Answer, texts: list[str]) -> None:
        parts = [
            types.Part(function_response=types.FunctionResponse(id=call[0], name=call[1], response={"output": text}))
            for call, text in zip(answer.calls, texts, strict=True)
        ]
        self.history.append(types.UserContent(parts=parts))


class Chat(Client):
    error = openai.APIError

    def make(self, base_url: str, key: str, **more: Any) -> None:
        self.sdk = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=more.get("timeout", 60))

    def ask(self, stream: bool) -> Answer:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()
        ]
        asked = {"model": self.model, "messages": self.history, "tools": tools if self.tools else openai.omit}
        if stream:
            with self.sdk.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
                done = _drained(events).get_final_completion()
        else:
            done = self.sdk.chat.completions.create(**asked)
        message = done.choices[0].message
        calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or []]
        self.history.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        usage = done.usage
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
        return Answer(
            text=message.content or message.refusal or "",
            calls=calls,
            thinking=getattr(message, "reasoning_content", None) or "",
            finish=done.choices[0].finish_reason,
            tokens=(usage.prompt_tokens, usage.completion_tokens),
            cached=usage.prompt_tokens_details.cached_tokens,
            id=done.id,
            model=done.model,
            raw=done,
        )

    def reply(self, answer: Answer, texts: list[str]) -> None:
        for call, text in zip(answer.calls, texts, strict=True):
            self.history.append({"role": "tool", "tool_call_id": call[0], "content": text})


class Responses(Client):
    error = openai.APIError

    def make(self, base_url: str, key: str, **more: Any) -> None:
        self.sdk = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=more.get("timeout", 60))

    def ask(self, stream: bool) -> Answer:
        tools = [
            {"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in TOOLS.items()
        ]
        asked = {"model": self.model, "input": self.history, "tools": tools if self.tools else openai.omit}
        if stream:
            numbers, done = [], None
            with self.sdk.responses.stream(**asked) as events:
                for event in events:
                    numbers.append(event.sequence_number)
                    done = getattr(event, "response", done)
            assert numbers == list(range(len(numbers)))
        else:
            done = self.sdk.responses.create(**asked)
        answer = Answer(id=done.id, model=done.model, raw=done)
        answer.finish = done.incomplete_details.reason if done.incomplete_details else done.status
        for item in done.output:
            if item.type == "function_call":
                answer.calls.append((item.call_id, item.name, json.loads(item.arguments)))
            elif item.type == "reasoning":
                answer.thinking += "".join(part.text for part in item.summary)
            else:
                answer.text += "".join(getattr(part, "text", None) or part.refusal for part in item.content)
            self.history.append(item.model_dump(exclude_none=True, exclude={"parsed_arguments"}))
        answer.tokens = (done.usage.input_tokens, done.usage.output_tokens)
        assert done.usage.total_tokens == sum(answer.tokens)
        answer.cached = done.usage.input_tokens_details.cached_tokens
        return answer

    def reply(self, answer: Answer, texts: list[str]) -> None:
        for call, text in zip(answer.calls, texts, strict=True):
            self.history.append({"type": "function_call_output", "call_id": call[0], "output": text})


class Messages(Client):
    error = anthropic.APIError

    def make(self, base_url: str, key: str, **more: Any) -> None:
        self.sdk = anthropic.Anthropic(base_url=base_url, api_key=key, max_retries=0, timeout=more.get("timeout", 60))

    def ask(self, stream: bool) -> Answer:
        tools = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
        asked = {"model": self.model, "max_tokens": 1000, "messages": self.history}
        asked["tools"] = tools if self.tools else anthropic.omit
        if stream:
            with self.sdk.messages.stream(**asked) as events:
                done = _drained(events).get_final_message()
        else:
            done = self.sdk.messages.create(**asked)
        blocks = done.content
        if blocks:
            self.history.append(
                {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in blocks]}
            )
        usage = done.usage
        return Answer(
            text="".join(block.text for block in blocks if block.type == "text"),
            calls=[(block.id, block.name, dict(block.input)) for block in blocks if block.type == "tool_use"],
            thinking="".join(block.thinking for block in blocks if block.type == "thinking"),
            finish=done.stop_reason,
            tokens=(
                usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0),
                usage.output_tokens,
            ),
            cached=usage.cache_read_input_tokens or 0,
            id=done.id,
            model=done.model,
            raw=done,
        )

    def reply(self, answer: Answer, texts: list[str]) -> None:
        content = [
            {"type": "tool_result", "tool_use_id": call[0], "content": text}
            for call, text in zip(answer.calls, texts, strict=True)
        ]
        self.history.append({"role": "user", "content": content})


def _drained(events: Any) -> Any:
    for _ in events:
        pass
    return events


CLIENTS = {"google": Google, "openai": Chat, "openai-responses": Responses, "anthropic": Messages}
FINISHES = {
    "google": {"stop": "STOP", "calls": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"},
    "openai": {"stop": "stop", "calls": "tool_calls", "max_tokens": "length", "refusal": "content_filter"},
    "openai-responses": {
        "stop": "completed", "calls": "completed", "max_tokens": "max_output_tokens", "refusal": "completed",
    },
    "anthropic": {"stop": "end_turn", "calls": "tool_use", "max_tokens": "max_tokens", "refusal": "refusal"},
}  # fmt: skip
