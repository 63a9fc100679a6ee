"""Where shims ask: a small server on loopback in the combo's process. It decides, answers, notes refusals."""

from __future__ import annotations

import os
import socket
import socketserver
import threading
from collections.abc import Callable, Sequence

from devops_bench.guard.judge import judge_command
from devops_bench.guard.shim import VERSION
from devops_bench.guard.types import Finding, GuardContext, Refusal, Source

LARGEST = 4 << 20  # bytes of one question: a long command line and some kubeconfigs
PATIENCE = 10.0  # seconds that a connection may take
MOST_FINDINGS = 1000
MOST_ALLOWED = 20_000
MOST_AT_ONCE = 64


class BadQuestion(Exception):
    """Not what a shim sends."""


class Gate:
    """A context manager. `address` is where shims connect; `on_finding` is called for every refusal, from a thread."""

    def __init__(self, context: GuardContext, on_finding: Callable[[Finding], None] = lambda _finding: None) -> None:
        self.context = context
        self._on_finding = on_finding
        self._findings: list[Finding] = []
        self._allowed: dict[tuple[str, ...], set[str]] = {}
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.5,), name="guard", daemon=True)
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return "127.0.0.1", self._server.server_address[1]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was refused so far, the first thousand."""
        with self._lock:
            return tuple(self._findings)

    def note(self, refusal: Refusal, source: Source) -> None:
        """Add a finding; also for what the other lines of the guard saw."""
        finding = Finding(refusal, source)
        with self._lock:
            if len(self._findings) >= MOST_FINDINGS:
                return
            self._findings.append(finding)
        self._on_finding(finding)

    def allowed(self, words: Sequence[str], kubeconfig: str | None = None) -> bool:
        """Whether a shim was told that this command (tool, arguments) may run: it knew more than its words, as it
        read the kubeconfigs. With `kubeconfig`: with this KUBECONFIG.
        """
        with self._lock:
            known = self._allowed.get(tuple(words), set())
        return bool(known) if kubeconfig is None else kubeconfig in known

    def answer(self, question: bytes) -> bytes:
        """The reply to one question: `ok` or `no` and the text for the agent, each ended by NUL."""
        try:
            words, env, refusal = _judge(question, self.context)
        except BadQuestion:
            return b"no\0this command could not be checked and was not run\0"
        if refusal is None:
            with self._lock:
                if len(self._allowed) < MOST_ALLOWED:
                    self._allowed.setdefault(words, set()).add(env.get("KUBECONFIG", ""))
            return b"ok\0"
        self.note(refusal, Source.SHIM)
        return b"no\0" + refusal.text.replace("\0", " ").encode(errors="replace") + b"\0"

    def close(self) -> None:
        """Stop listening. Idempotent."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.places = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if not self.places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up or says nothing is the agent's business."""


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(PATIENCE)
        data = bytearray()
        while not _complete(data):
            chunk = self.request.recv(1 << 16)
            if not chunk or len(data) + len(chunk) > LARGEST:
                return
            data += chunk
        self.request.sendall(self.server.gate.answer(bytes(data)))


def _complete(data: bytearray) -> bool:
    """True when all announced fields are there."""
    if not data.endswith(b"\0"):
        return False
    try:
        return _split(bytes(data)) is not None
    except BadQuestion:
        return True


def _split(data: bytes) -> tuple[str, str, list[str], list[str], list[str]] | None:
    """Tool, folder, arguments, variables, configs (path, text, path, text ...); None while something is missing."""
    fields = [os.fsdecode(field) for field in data.split(b"\0")[:-1]]
    if not fields or fields[0] != VERSION:
        raise BadQuestion
    if len(fields) < 4:
        return None
    tool, cwd = fields[1:3]
    at, lists = 3, []
    for each in (1, 1, 2):
        if len(fields) <= at:
            return None
        if not fields[at].isdecimal() or len(fields[at]) > 6:
            raise BadQuestion
        count = int(fields[at]) * each
        if len(fields) < at + 1 + count:
            return None
        lists.append(fields[at + 1 : at + 1 + count])
        at += 1 + count
    if len(fields) != at:
        raise BadQuestion
    return tool, cwd, lists[0], lists[1], lists[2]


def _judge(question: bytes, context: GuardContext) -> tuple[tuple[str, ...], dict[str, str], Refusal | None]:
    """The command, its environment, and why it must not run."""
    parts = _split(question)
    if parts is None:
        raise BadQuestion
    tool, cwd, args, variables, configs = parts
    env = {name: value for name, sign, value in (item.partition("=") for item in variables) if sign}
    texts = dict(zip(configs[::2], configs[1::2], strict=True)) if configs else None
    words = (tool, *args)
    return words, env, judge_command(words, context, env=env, cwd=cwd, configs=texts)
