"""The tools of our own agents (`api`, `scripted`): `bash`, `kubectl` and `file`, all executed inside the sandbox.

One `Toolbox` serves one run. Its tools share a shell, so /tmp and background processes last from call to call. A tool
never raises for what the agent did wrong: the reason is the result, and the status says error.
"""

from __future__ import annotations

import posixpath
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from devops_bench import settings
from devops_bench.agents.base import CallStatus, ToolCall, ToolKind
from devops_bench.sandbox import Completed, Sandbox, Shell, ShellEnded

NAMES = ("bash", "kubectl", "file")
DEFAULT_TIMEOUT = 120.0
FILE_LIMIT = 4 << 20
WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat >"$1"'


class ToolError(Exception):
    """The call was wrong; the message is the result."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool call came to."""

    result: str
    status: CallStatus


class Toolbox:
    """The tools of one run, until `close`. `deadline` is on time.monotonic; `env` is added for the commands."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        deadline: float,
        env: Mapping[str, str] | None = None,
        emit: Callable[[str, Mapping[str, Any]], None] = lambda _kind, _fields: None,
    ) -> None:
        self._sandbox = sandbox
        self._deadline = deadline
        self._env = dict(env or {})
        self._emit = emit
        self._shell: Shell | None = None
        self._cap = settings.integer("tool_result_cap", {})
        self._ids = count(1)
        self.waited = 0.0

    def call(self, name: str, args: Mapping[str, Any], call_id: str = "") -> ToolCall:
        """Run one tool by name; unknown names and bad arguments are errors the caller of the tool sees."""
        started, clock = time.time(), time.monotonic()
        self._emit("tool_call", {"name": name, "phase": "started"})
        try:
            outcome = self._dispatch(name, dict(args))
        except ToolError as error:
            outcome = Outcome(str(error), CallStatus.ERROR)
        took = time.monotonic() - clock
        self.waited += took
        ended = {"name": name, "phase": "ended", "status": outcome.status.value, "seconds": round(took, 3)}
        self._emit("tool_call", ended)
        return ToolCall(
            name=name,
            args=dict(args),
            result=outcome.result,
            status=outcome.status,
            kind=ToolKind.BUILTIN,
            started=started,
            ended=started + took,
            call_id=call_id or f"call_{next(self._ids)}",
        )

    def close(self) -> Completed | None:
        """End the shell and all it started; CPU and memory of the whole run, None when no tool ran."""
        if self._shell is None:
            return None
        shell, self._shell = self._shell, None
        return shell.close()

    def _dispatch(self, name: str, args: dict[str, Any]) -> Outcome:
        if name == "bash":
            command = _text(args, "command")
            return self._run(["/bin/bash", "-c", command], _seconds(args))
        if name == "kubectl":
            return self._run(["kubectl", *_words(args)], _seconds(args), stdin=str(args.get("stdin") or "").encode())
        if name == "file":
            return self._file(args)
        raise ToolError(f"there is no tool {name!r}; the tools are {', '.join(NAMES)}")

    def _run(self, argv: list[str], timeout: float, stdin: bytes = b"") -> Outcome:
        done = self._execute(argv, timeout, stdin, self._cap)
        text = done.text()
        if done.timed_out:
            return Outcome(f"{text}\n[timed out after {done.duration:.0f} s and was killed]".lstrip(), CallStatus.ERROR)
        if done.exit:
            return Outcome(f"{text}\n[exit {done.exit}]".lstrip(), CallStatus.ERROR)
        return Outcome(text or "[no output]", CallStatus.OK)

    def _execute(self, argv: list[str], timeout: float, stdin: bytes, cap: int) -> Completed:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ToolError("there is no time left")
        if self._shell is None:
            self._shell = self._sandbox.shell(self._env)
        try:
            return self._shell.run(argv, timeout=min(timeout, left), stdin=stdin, cap=cap, on_output=self._heard)
        except ShellEnded:
            self._shell.close()
            self._shell = None
            raise ToolError(
                "the shell and everything started in it was killed (by this command, or by a limit on processes or "
                "memory); the next call starts a new one with an empty /tmp"
            ) from None

    def _heard(self, data: bytes) -> None:
        self._emit("output", {"text": data.decode(errors="replace")})

    def _file(self, args: dict[str, Any]) -> Outcome:
        action, path = _text(args, "action"), self._path(_text(args, "path"))
        if action == "read":
            return self._run(["cat", "--", path], DEFAULT_TIMEOUT)
        if action == "list":
            return self._run(["ls", "-la", "--", path], DEFAULT_TIMEOUT)
        if action == "write":
            return self._write(path, _text(args, "content", empty=True))
        if action == "edit":
            old, new = _text(args, "old"), _text(args, "new", empty=True)
            done = self._execute(["cat", "--", path], DEFAULT_TIMEOUT, b"", FILE_LIMIT)
            if done.exit or done.dropped:
                raise ToolError(done.text() if done.exit else f"{path} is larger than {FILE_LIMIT} bytes: use bash")
            found = done.text().count(old)
            if found != 1:
                raise ToolError(f"`old` occurs {found} times in {path}; it must occur exactly once")
            return self._write(path, done.text().replace(old, new))
        raise ToolError(f"action {action!r} is not known; use read, write, edit or list")

    def _write(self, path: str, content: str) -> Outcome:
        done = self._execute(["/bin/bash", "-c", WRITE, "write", path], DEFAULT_TIMEOUT, content.encode(), self._cap)
        if done.exit:
            raise ToolError(done.text() or f"exit {done.exit}")
        return Outcome(f"wrote {len(content.encode())} bytes to {path}", CallStatus.OK)

    def _path(self, path: str) -> str:
        """An absolute path below the workspace, the home or /tmp; links are followed by the sandbox, not by us."""
        home, workspace = str(self._sandbox.home), str(self._sandbox.workspace)
        if path == "~" or path.startswith("~/"):
            path = home + path[1:]
        full = posixpath.normpath(posixpath.join(workspace, path))
        if not any(full == root or full.startswith(f"{root}/") for root in (workspace, home, "/tmp")):  # noqa: S108
            raise ToolError(f"{path} is outside {workspace}, {home} and /tmp")
        return full


def _text(args: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = args.get(name)
    if not isinstance(value, str) or (not value and not empty):
        raise ToolError(f"argument {name!r} must be a string" + ("" if empty else ", and not empty"))
    return value


def _words(args: Mapping[str, Any]) -> list[str]:
    """The arguments of kubectl: a list, or one string split like a shell does, with or without the word kubectl."""
    value = args.get("args", args.get("command"))
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        words = list(value)
    else:
        try:
            words = shlex.split(_text({"args": value}, "args"))
        except ValueError as error:
            raise ToolError(f"the arguments cannot be split: {error}") from None
    return words[1:] if words[:1] == ["kubectl"] else words


def _seconds(args: Mapping[str, Any]) -> float:
    value = args.get("timeout_sec")
    if value is None:
        return DEFAULT_TIMEOUT
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ToolError("argument 'timeout_sec' must be a number of seconds above 0")
    return float(value)
