"""Messages to people: what a real receiver on loopback gets, and that none that fails or hangs is the run's problem."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from devops_bench.errors import ConfigError
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState
from devops_bench.supervisor import notify
from devops_bench.supervisor.notify import Kind, Target, message, send
from devops_bench.supervisor.state import ComboStatus, RunState
from devops_bench.supervisor.telling import Telling

SECRET = "sk-live-0123456789abcdef"
PATH = "/services/T000/B000/right-to-post?thread=1"


class Receiver(ThreadingHTTPServer):
    """Answers with `status`; with `hang` set it takes the request and says nothing until the test is over."""

    daemon_threads = True

    def __init__(self) -> None:
        self.status = 200
        self.hang = False
        self.location = ""
        self.got: list[tuple[str, dict[str, str], Any]] = []
        self.heard = threading.Semaphore(0)
        self.over = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{PATH}"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.path, dict(self.headers), body))
        self.server.heard.release()
        if self.server.hang:
            self.server.over.wait()
            return
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def log_message(self, *_args: Any) -> None:
        """Quiet."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


class Core:
    """What telling needs of its supervisor."""

    def __init__(self, folder: Path, state: RunState) -> None:
        self.run_dir = folder / "20260101_000000-abcd"
        self.state = state
        self.redactor = Redactor({"OPENAI_API_KEY": SECRET})
        self.events: list[tuple[str, Any]] = []

    def record(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields["kind"]))


def state(**fields: Any) -> RunState:
    combos = {"a": ComboStatus(state=ComboState.SCORED), "b": ComboStatus(state=ComboState.PLANNED)}
    return RunState(stamp="s", combos=combos, **fields)


def heard(receiver: Receiver, count: int = 1) -> None:
    for _ in range(count):
        assert receiver.heard.acquire(timeout=60)


def delivered(telling: Telling) -> list[int]:
    """Exit codes of all deliveries that were begun."""
    return [process.wait(60) for _kind, process in telling._sent]


def test_a_webhook_gets_slacks_json_on_its_whole_path(receiver: Receiver) -> None:
    process = send(Target(receiver.url), message(Kind.DONE, "s", "2 passed <!channel> & more\x1b[31m", {"done": 2}))
    assert process is not None and process.wait(60) == 0
    ((path, headers, body),) = receiver.got
    assert path == PATH and headers["Content-Type"] == "application/json"
    assert body["text"].startswith("devops-bench s done: 2 passed &lt;!channel&gt; &amp; more")
    assert "\x1b" not in body["text"]
    assert body["blocks"] == [{"type": "section", "text": {"type": "mrkdwn", "text": body["text"]}}]
    assert body["metadata"] == {"event_type": "devops_bench_done", "event_payload": {"stamp": "s", "done": 2}}


@pytest.mark.parametrize(
    ("fields", "error", "kind", "words"),
    [
        ({"done": True}, "", "done", "1 passed"),
        ({"stop_requested": "graceful"}, "", "stopped", "1 passed"),
        ({"halted": f"401 for {SECRET}"}, "", "needs_you", "devops-bench resume 20260101_000000-abcd"),
        ({}, f"no disk: {SECRET}", "needs_you", "no disk"),
    ],
)
def test_each_end_of_a_run_is_told_once_and_without_secrets(
    receiver: Receiver, tmp_path: Path, fields: dict[str, Any], error: str, kind: str, words: str
) -> None:
    core = Core(tmp_path, state(**fields))
    telling = Telling(Target(receiver.url), core)  # type: ignore[arg-type]
    telling.end({"halted": fields.get("halted", ""), "total": 2}, error)
    assert delivered(telling) == [0]
    ((_path, _headers, body),) = receiver.got
    assert body["metadata"]["event_type"] == f"devops_bench_{kind}" and words in body["text"], body
    assert SECRET not in json.dumps(body) and body["metadata"]["event_payload"]["total"] == 2
    assert core.events == []


def test_a_receiver_that_hangs_is_not_waited_for_and_its_url_is_nowhere_to_be_read(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(notify.WEBHOOK, raising=False)
    receiver.hang = True
    core = Core(tmp_path, state(stop_requested="graceful"))
    telling = Telling(Target(receiver.url), core)  # type: ignore[arg-type]
    telling.heartbeat({"done": 1})
    heard(receiver)
    telling.end({})
    living = [process for _kind, process in telling._sent if process.poll() is None]
    assert len(living) == 2, "both deliveries still wait, and nobody waits for them"
    heard(receiver)
    for process in living:
        for name in ("cmdline", "environ"):
            assert b"right-to-post" not in Path(f"/proc/{process.pid}/{name}").read_bytes()
        process.kill()
        process.wait()
    assert "right-to-post" not in repr(Target(receiver.url))


@pytest.mark.parametrize("status", [500, 404, 302])
def test_a_receiver_that_fails_is_tried_again_and_then_journalled(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    other = Receiver()
    receiver.status, receiver.location = status, other.url if status == 302 else ""
    core = Core(tmp_path, state())
    telling = Telling(Target(receiver.url), core)  # type: ignore[arg-type]
    telling.heartbeat({})
    assert delivered(telling) == [1] and len(receiver.got) == notify.TRIES
    receiver.status, receiver.location = 200, ""
    telling.end({})
    assert delivered(telling)[-1] == 0
    assert core.events == [("notify_failed", "heartbeat")]
    assert other.got == [], "no redirect is followed"
    other.shutdown()
    other.server_close()


def test_a_command_gets_the_json_on_standard_input(tmp_path: Path) -> None:
    goal = tmp_path / "heard.json"
    script = f"import sys; open({str(goal)!r}, 'w').write(sys.stdin.read())"
    body = message(Kind.STOPPED, "s", "1 passed", {"done": 1})
    process = send(Target(command=(sys.executable, "-c", script)), body)
    assert process is not None and process.wait(60) == 0
    assert json.loads(goal.read_text()) == body


@pytest.mark.parametrize("command", [("false",), ("/no/such/program",)])
def test_a_command_that_fails_is_told_and_keeps_no_webhook_from_its_message(
    receiver: Receiver, command: tuple[str, ...]
) -> None:
    process = send(Target(receiver.url, command), message(Kind.DONE, "s", "x", {}))
    assert process is not None and process.wait(60) == 1
    assert len(receiver.got) == 1


def test_no_process_to_be_had_is_journalled_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    core = Core(tmp_path, state(halted="x"))
    Telling(Target("http://127.0.0.1:9/x"), core).end({})  # type: ignore[arg-type]
    assert core.events == [("notify_failed", "needs-you")]


@pytest.mark.parametrize(
    "url",
    ["ftp://h/x", "hooks.example/secret-part", "http://", "http://h:99999/secret-part", "http://[::1/secret-part"],
)
def test_a_malformed_webhook_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Target.of({notify.WEBHOOK: url})
    assert "secret-part" not in caught.value.message() and notify.WEBHOOK in caught.value.message()


def test_a_command_that_cannot_be_split_is_refused_and_nowhere_is_nowhere() -> None:
    with pytest.raises(ConfigError, match=notify.COMMAND):
        Target.of({notify.COMMAND: "say 'open"})
    assert not Target.of({notify.WEBHOOK: " ", notify.COMMAND: ""})
    assert send(Target(), {}) is None
