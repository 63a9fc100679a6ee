"""Telling people: a webhook (Slack-compatible JSON) or a command, on done, stopped, needs-you, and with --hands-off on
every heartbeat.

`BENCH_NOTIFY_WEBHOOK` is a secret (its URL is the right to post) and reaches no file, argument list or combo.
`BENCH_NOTIFY_COMMAND` is an argv split like a shell; it gets the JSON on standard input. A message is sent from a
process of its own (`python -m devops_bench.supervisor.notify`), so that a slow receiver holds up nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from devops_bench.errors import ConfigError
from devops_bench.plaintext import one_line

WEBHOOK, COMMAND = "BENCH_NOTIFY_WEBHOOK", "BENCH_NOTIFY_COMMAND"
TRIES = 3
PAUSE = 1.0  # seconds, doubled
TIMEOUT = 10.0
COMMAND_SEC = 30.0
WHOLE_SEC = 90  # then the process ends, whatever a receiver does to keep it


class Kind(StrEnum):
    """What a message is about."""

    DONE = "done"
    STOPPED = "stopped"
    NEEDS_YOU = "needs-you"
    HEARTBEAT = "heartbeat"


@dataclass(frozen=True, slots=True)
class Target:
    """Where messages go; nowhere when both are empty."""

    webhook: str = field(default="", repr=False)
    command: tuple[str, ...] = ()

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Target:
        """From the environment. Raises ConfigError; the URL is not shown."""
        url = env.get(WEBHOOK, "").strip()
        if url and not _usable(url):
            raise ConfigError(f"{WEBHOOK} is no http(s) URL", fix="set it to the incoming webhook's URL")
        try:
            command = tuple(shlex.split(env.get(COMMAND, "")))
        except ValueError as error:
            raise ConfigError(f"{COMMAND} cannot be split: {error}", fix="quote it like a shell command") from None
        return cls(url, command)

    def __bool__(self) -> bool:
        return bool(self.webhook or self.command)


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def message(kind: Kind, stamp: str, text: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON: `text` and `blocks` are what Slack shows, `metadata` is for programs."""
    line = one_line(f"devops-bench {stamp} {kind}: {text}")
    safe = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    event = {"event_type": f"devops_bench_{kind.value.replace('-', '_')}", "event_payload": {"stamp": stamp, **data}}
    return {
        "text": safe,
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": safe}}],
        "metadata": event,
    }


def send(target: Target, body: Mapping[str, Any]) -> subprocess.Popen[bytes] | None:
    """Start a process that delivers `body`; None when there is nowhere to send it. OSError when it cannot start."""
    if not target:
        return None
    process = subprocess.Popen(
        [sys.executable, "-m", "devops_bench.supervisor.notify"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(json.dumps({"webhook": target.webhook, "command": target.command, "body": body}).encode())
    return process


def main() -> int:
    """Deliver what stands on standard input; 0 when every target took it. What failed is said without the URL."""
    signal.alarm(WHOLE_SEC)
    order = json.loads(sys.stdin.buffer.read())
    raw = json.dumps(order["body"]).encode()
    fine = True
    if order["webhook"]:
        fine = any(_post(order["webhook"], raw) or _pause(attempt) for attempt in range(TRIES))
        if not fine:
            print(f"notification: {WEBHOOK} took nothing in {TRIES} tries", file=sys.stderr)
    if order["command"]:
        fine = _run(order["command"], raw) and fine
    return 0 if fine else 1


def _pause(attempt: int) -> bool:
    if attempt + 1 < TRIES:
        time.sleep(PAUSE * 2**attempt)
    return False


def _post(url: str, raw: bytes) -> bool:
    """One POST; no redirect is followed. True for a 2xx answer."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # not for those who only start deliveries

    parts = urlsplit(url)
    assert parts.hostname is not None
    connection: HTTPConnection
    if parts.scheme == "https":
        connection = HTTPSConnection(parts.hostname, parts.port, timeout=TIMEOUT, context=ssl.create_default_context())
    else:
        connection = HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, raw, {"Content-Type": "application/json", "User-Agent": "devops-bench"})
        return 200 <= connection.getresponse().status < 300
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _run(argv: list[str], raw: bytes) -> bool:
    try:
        done = subprocess.run(argv, input=raw, stdout=subprocess.DEVNULL, timeout=COMMAND_SEC, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"notification: {type(error).__name__}: {os.path.basename(argv[0])}", file=sys.stderr)
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
