"""The fork server: a process that has the harness imported and does nothing but fork combos.

It is started with `python -m devops_bench.supervisor.zygote FD RUN_DIR`, where FD is a SOCK_SEQPACKET socket to the
supervisor. It reads the plan once for all combos.
It has no loop, no threads, no clients, and it never keeps a descriptor that belongs to a combo. Protocol, one JSON
datagram each:

    to the zygote:   {"id": n, "request": {...}, "fds": ["gate", "token", "plane"]} with those descriptors attached
    from the zygote: {"id": n, "pid": p}, {"id": n, "error": "..."}, {"exit": p, "code": c}, {"ready": true}

`{"bye": true}` is answered with `{"cost": {...}}` and ends it.

The exit code is a hint only: a combo's outcome is its `outcome.json`. A combo lives in a session of its own and
outlives both the zygote and the supervisor. It starts only after a byte on its gate; if the gate closes first, its
pid was never made durable and it exits without doing anything.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import random
import resource
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

DATAGRAM = 1 << 20
MAX_FDS = 8


def send(sock: socket.socket, message: dict[str, Any], fds: list[int] | None = None) -> None:
    """Send one datagram with descriptors attached."""
    data = json.dumps(message).encode()
    if fds:
        sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
    else:
        sock.send(data)


def receive(sock: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """One datagram and its descriptors (close-on-exec); None when the peer is gone."""
    data, ancillary, _flags, _addr = sock.recvmsg(
        DATAGRAM, socket.CMSG_SPACE(MAX_FDS * 4), getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    )
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    if not data:
        return None, list(fds)
    return json.loads(data), list(fds)


def serve(sock: socket.socket, run_dir: Path) -> None:
    """Fork combos until the supervisor is gone."""
    from devops_bench.combo import entry

    entry.preload(run_dir)
    gc.collect()
    gc.freeze()
    wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    poller.register(wake_read, select.POLLIN)
    send(sock, {"ready": True})
    while True:
        for fd, _events in poller.poll():
            if fd == wake_read:
                os.read(wake_read, 4096)
                _reap(sock)
                continue
            message, fds = receive(sock)
            if message is None:
                return
            if message.get("bye"):
                send(sock, {"cost": _cost()})
                return
            try:
                _fork(sock, message, fds, [wake_read, wake_write])
            finally:
                for extra in fds:
                    os.close(extra)


def _cost() -> dict[str, float]:
    """CPU seconds of this process and of the combos it waited for; its peak memory in MB."""
    mine, combos = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu": round(mine.ru_utime + mine.ru_stime, 3),
        "combos_cpu": round(combos.ru_utime + combos.ru_stime, 3),
        "rss_mb": round(mine.ru_maxrss / 1024, 1),
    }


def _reap(sock: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        try:
            send(sock, {"exit": pid, "code": os.waitstatus_to_exitcode(status)})
        except OSError:
            return


def _fork(sock: socket.socket, message: dict[str, Any], fds: list[int], own: list[int]) -> None:
    try:
        pid = os.fork()
    except OSError as error:
        send(sock, {"id": message["id"], "error": f"fork: {error}"})
        return
    if pid == 0:
        code = 70
        try:
            signal.set_wakeup_fd(-1)
            for fd in own:
                os.close(fd)
            sock.close()
            code = _child(message, fds)
        finally:
            os._exit(code)
    send(sock, {"id": message["id"], "pid": pid})


def _child(message: dict[str, Any], fds: list[int]) -> int:
    for sig in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_DFL)
    os.setsid()
    random.seed()
    named = dict(zip(message["fds"], fds, strict=True))
    gate = named.pop("gate")
    go = os.read(gate, 1)
    os.close(gate)
    if go != b"g":
        return 0
    from devops_bench.combo import entry

    return entry.run_forked(message["request"], named)


def main() -> None:
    """Entry of `python -m devops_bench.supervisor.zygote FD RUN_DIR`."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the supervisor died: nobody wants to be told
        serve(sock, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
