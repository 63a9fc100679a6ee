"""Run `npm ci` for one lock into a folder: no install scripts, a private HOME and cache, progress, errors in one line.

npm's own settings stay in force (registry, proxy, certificates): they are the user's way out of this host. The child
ends when we end, however we end: it watches its standard input.
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from devops_bench.agents.install.packages import Lock
from devops_bench.errors import ConfigError

FETCHED = re.compile(r"^npm http (?:fetch GET \d+|cache) .*\.tgz\b")
PASSED = re.compile(
    r"^(?:npm_config_.*|(?:https?|no|all)_proxy|PATH|LANG|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|SYSTEMROOT)$",
    re.IGNORECASE,
)
# Ours alone: where it writes, what it runs, and what would change what gets installed.
FORCED = {
    "ignore_scripts": "true",
    "audit": "false",
    "fund": "false",
    "update_notifier": "false",
    "engine_strict": "false",
    "package_lock": "true",
    "global": "false",
    "include": "",
    "color": "false",
    "progress": "false",
    "loglevel": "http",
    "logs_max": "0",
    "fetch_retries": "2",
    "fetch_retry_mintimeout": "1000",
    "fetch_retry_maxtimeout": "5000",
    "fetch_timeout": "120000",
}
REPORT_INTERVAL = 0.5  # seconds
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH")


@dataclass(frozen=True, slots=True)
class InstallProgress:
    """How far an install is: `done` of `total` packages, `seconds` since it began; `size` in bytes is what was fetched
    (packed), with phase `done` what is installed. `phase`: fetch, done. `waiting`: another process installs it.
    """

    key: str
    phase: str
    done: int
    total: int
    seconds: float
    size: int = 0
    waiting: bool = False


Progress = Callable[[InstallProgress], None]


def npm_ci(lock: Lock, npm: Sequence[str], work: Path, cache: Path, env: Mapping[str, str], report: Progress) -> None:
    """Leave `work/node_modules` as the lock says. Raises ConfigError with npm's own reason in one line."""
    (work / "package.json").write_bytes(lock.manifest)
    (work / "package-lock.json").write_bytes(lock.lock)
    home = work / ".home"
    home.mkdir(mode=0o700)
    omit = [f"--omit={kind}" for kind in lock.package.omit]
    fetched = 0
    began = told = time.monotonic()
    tail: deque[str] = deque(maxlen=400)
    with (
        as_file(files("devops_bench.agents.install") / "stdin_watch.cjs") as watch,
        subprocess.Popen(
            [*npm, "ci", *omit],
            cwd=work,
            env=npm_environment(env, home, cache, watch),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as child,
    ):
        try:
            for line in _lines(child):
                if line is not None and FETCHED.match(line):
                    fetched += 1
                elif line is not None:
                    tail.append(line.strip())
                now = time.monotonic()
                if now - told >= REPORT_INTERVAL:
                    told, size = now, _size(cache)
                    report(InstallProgress(lock.package.key, "fetch", fetched, lock.count, now - began, size))
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0:
        raise failure(lock.package.key, child.returncode, list(tail))
    if not (work / "node_modules" / lock.package.program()).is_file():
        words = [f"npm error code {word}" for line in tail for word in UNREACHABLE if word in line]
        raise failure(lock.package.key, 0, words[:1] or ["npm error code E404"])


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """Lines of its stderr as they come, and None whenever REPORT_INTERVAL passed without one."""
    assert child.stderr is not None
    fd, rest = child.stderr.fileno(), b""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            if not selector.select(REPORT_INTERVAL):
                yield None
                continue
            data = os.read(fd, 1 << 16)
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
            if not data:
                return


def _size(folder: Path) -> int:
    """Bytes below a folder in which files come and go."""
    total = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total


def npm_environment(env: Mapping[str, str], home: Path, cache: Path, watch: Path) -> dict[str, str]:
    """The whole environment of npm: the user's settings for the network, everything else ours."""
    kept = {name: text for name, text in env.items() if PASSED.match(name)}
    kept = {name: text for name, text in kept.items() if name.lower().removeprefix("npm_config_") not in FORCED}
    user = env.get("NPM_CONFIG_USERCONFIG") or env.get("npm_config_userconfig")
    config = Path(user) if user else Path(env.get("HOME") or "~").expanduser() / ".npmrc"
    ours = {f"npm_config_{name}": text for name, text in FORCED.items()} | {"npm_config_cache": str(cache)}
    if config.is_file():
        ours["npm_config_userconfig"] = str(config)
    return {
        "PATH": os.defpath,
        **{name: text for name, text in kept.items() if name.lower() not in ours},
        **ours,
        "HOME": str(home),
        "NODE_OPTIONS": f'--require "{watch}"',
        "NO_COLOR": "1",
    }


def failure(key: str, code: int, said: Sequence[str]) -> ConfigError:
    """npm's error as one line."""
    errors = [line.removeprefix("npm error").strip() for line in said if line.startswith("npm error")]
    words = [line.split()[1] for line in errors if line.startswith("code ") and len(line.split()) > 1]
    word = words[0] if words else ""
    text = next((line for line in errors if line and not line.startswith(("code ", "errno", "syscall"))), "")
    what = f"{word}: {text}"[:300].strip(": ") or f"npm ended with status {code}"
    if word in UNREACHABLE or any(name in what for name in UNREACHABLE):
        return ConfigError(
            f"cannot install {key}: the npm registry cannot be reached ({what})",
            fix="check network, proxy and npm's registry setting; what was fetched so far is kept",
        )
    if word == "ENOSPC":
        return ConfigError(f"cannot install {key}: {what}", fix="free disk space, or set DEVOPS_BENCH_CACHE")
    if word in {"E404", "ETARGET"}:
        return ConfigError(
            f"cannot install {key}: the npm registry does not have a pinned package ({what})",
            fix="use a registry that mirrors the public one",
        )
    return ConfigError(f"cannot install {key}: npm: {what}", fix="run again with the cause removed")
