"""Takes a plane back to a marked state, so that one start and one setup serve several trials of a task.

The plane puts back what was stored and starts its controllers, scheduler and kubelets anew: names, UIDs and times are
those of the mark, the audit log is empty, resource versions go on. Only planes started with `obeys` know how.
"""

from __future__ import annotations

import json
import os
import select
import time

from devops_bench.clusters.plane import READY_LINE_CAP, Plane, log_tail
from devops_bench.errors import HarnessError, TransientError

ANSWER_TIMEOUT = 90.0  # seconds; the plane gives up by itself after 60


def mark(plane: Plane) -> None:
    """Keep the state of now. Raises TransientError when the plane fails."""
    _ask(plane, "mark")


def rewind(plane: Plane) -> bool:
    """Go back to the mark; False when the plane cannot: use another.

    Raises TransientError when the plane fails.
    """
    return _ask(plane, "rewind")


def _ask(plane: Plane, command: str) -> bool:
    if plane.write_fd is None or plane.stdout_fd is None or not plane.obeys:
        raise HarnessError(f"{plane!r} takes no commands")
    try:
        os.write(plane.write_fd, f"{command}\n".encode())
    except OSError:
        raise _failed(plane, command) from None
    heard = b""
    deadline = time.monotonic() + ANSWER_TIMEOUT
    poller = select.poll()
    poller.register(plane.stdout_fd, select.POLLIN)
    while b"\n" not in heard:
        left = deadline - time.monotonic()
        portion = os.read(plane.stdout_fd, READY_LINE_CAP) if left > 0 and poller.poll(left * 1000) else b""
        if not portion:
            raise _failed(plane, command)
        heard += portion
    try:
        said = json.loads(heard)
        if said["done"] != command:
            raise ValueError
        return bool(said["ok"])
    except (KeyError, TypeError, ValueError):
        raise HarnessError(f"the control plane answered {command!r} with {heard[:120]!r}") from None


def _failed(plane: Plane, command: str) -> TransientError:
    return TransientError(f"control plane ended at {command!r}{log_tail(plane.folder)}", where=plane.folder, delay=1.0)
