"""What the model gateway adds: the same requests to a local provider, directly and through the gateway, in turn.

Provider, gateway and client are processes of their own, as they are in a run. The provider thinks for a moment, as all
of them do: in that time the gateway writes its record. Small and large requests show what grows with the conversation;
a stream whose portions carry their time of departure shows whether any of them waits.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.measure import row
from devops_bench.gateway.model import Forward, ModelGateway
from devops_bench.models.http import Connection, Request
from devops_bench.models.listener import Listener
from devops_bench.models.providers import Resolved
from devops_bench.redact import Redactor

ROUNDS = 100
PORTIONS = 200
# Seconds: a model's thinking, between portions of a stream, and an agent's between its requests.
THINKING = 0.03
GAP = 0.002
PAUSE = 0.01
KEY = "bench-key-0123456789abcdef"
REPLY = json.dumps(
    {
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word " * 200}}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 200},
    }
).encode()


def answer(connection: Connection, request: Request) -> None:
    """The local provider: a fixed reply, or portions with the time at which each left."""
    if b'"stream":true' not in request.body:
        time.sleep(THINKING)
        connection.send(200, REPLY)
        return
    connection.begin("text/event-stream")
    for _ in range(PORTIONS):
        time.sleep(GAP)
        event = {"choices": [{"index": 0, "delta": {"content": f"{time.monotonic():.6f}"}}]}
        connection.chunk(b"data: " + json.dumps(event).encode() + b"\n\n")
    connection.chunk(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    connection.end()


def serve(what: str, upstream: str) -> None:
    """One of the two server processes; tells its port and token, ends with its standard input."""
    with contextlib.ExitStack() as stack:
        if what == "provider":
            listener = Listener(answer)
            stack.callback(listener.close)
            port, token = listener.port, KEY
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            target = Resolved("openai", "m", upstream, KEY, "OPENAI_API_KEY")
            redactor = Redactor({"OPENAI_API_KEY": KEY})
            gateway = ModelGateway(
                Forward(target, env={}), wire="openai", model="m", record=Path(folder) / "r.jsonl", redactor=redactor
            )
            stack.enter_context(gateway)
            port, token = gateway.address[1], gateway.token
        print(port, token, flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def server(what: str, upstream: str = "") -> Iterator[tuple[int, str, psutil.Process]]:
    """A server process: its port, the key that it wants, and itself."""
    argv = [sys.executable, "-m", "bench.bench_gateway", what, upstream]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        port, token = process.stdout.readline().split()
        yield int(port), token, psutil.Process(process.pid)
        process.stdin.close()


class Client:
    """One kept connection, as a CLI has it."""

    def __init__(self, port: int, token: str, prefix: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._path = f"{prefix}/chat/completions"

    def ask(self, body: bytes) -> float:
        """Seconds of one whole exchange."""
        started = time.perf_counter()
        self._connection.request("POST", self._path, body, self._headers)
        reply = self._connection.getresponse()
        reply.read()
        assert reply.status == 200, reply.status
        return time.perf_counter() - started

    def stream(self, body: bytes) -> list[float]:
        """Seconds that each portion was on its way."""
        self._connection.request("POST", self._path, body, self._headers)
        reply = self._connection.getresponse()
        delays = []
        for line in reply:
            now = time.monotonic()
            if line.startswith(b"data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                delays += [now - float(delta["content"])] if delta else []
        return delays


def request(size: int, stream: bool = False) -> bytes:
    """A conversation of about `size` bytes with twenty tools."""
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "d" * 100, "parameters": {}}}
        for n in range(20)
    ]
    turns = [{"role": "user", "content": 'line "of" text\n' * 60} for _ in range(max(1, (size - 4000) // 1100))]
    body = {"model": "m", "messages": turns, "tools": tools, **({"stream": True} if stream else {})}
    return json.dumps(body, separators=(",", ":")).encode()


def main() -> None:
    """Medians of both ways, taken in turn."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {ROUNDS} requests each, in turn")
    row("", "through gateway", "direct", "target")
    with (
        server("provider") as (port, key, _),
        server("model", f"http://127.0.0.1:{port}/v1") as (front, token, gateway),
    ):
        direct, through = Client(port, key, "/v1"), Client(front, token, "/v1")
        for size in (4_000, 60_000, 250_000, 1_000_000):
            body = request(size)
            through.ask(body)
            pairs, before = [], sum(gateway.cpu_times()[:2])
            for _ in range(ROUNDS):
                time.sleep(PAUSE)
                pairs.append((through.ask(body), direct.ask(body)))
            cpu = (sum(gateway.cpu_times()[:2]) - before) / ROUNDS * 1e3
            ours, theirs = (statistics.median(pair[at] for pair in pairs) * 1e3 for at in (0, 1))
            added = statistics.median(a - b for a, b in pairs) * 1e3
            target = "<= 2 ms added;" if size <= 250_000 else ""
            row(
                f"request of {size // 1000} kB: ms",
                f"{ours:.2f}",
                f"{theirs:.2f} (added {added:+.2f})",
                f"{target} CPU {cpu:.1f}",
            )
        body = request(4_000, stream=True)
        delays: tuple[list[float], list[float]] = ([], [])
        for _ in range(6):
            delays[0].extend(through.stream(body))
            delays[1].extend(direct.stream(body))
        for name, pick in (("median", statistics.median), ("99th percentile", lambda d: sorted(d)[len(d) * 99 // 100])):
            ours, theirs = (pick(delay) * 1e3 for delay in delays)
            row(f"streamed portion on its way, {name}: ms", f"{ours:.3f}", f"{theirs:.3f} (added {ours - theirs:+.3f})")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve(sys.argv[1], sys.argv[2])
    else:
        main()
