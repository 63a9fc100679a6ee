"""Start a program with `--version` where agents run: in the sandbox, without network, with an empty home."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devops_bench.agents.install.types import Installation
from devops_bench.errors import BenchError
from devops_bench.paths import atomic_write, cache_root, private_dir
from devops_bench.sandbox import Sandbox, SandboxSpec, detect

SECONDS = 60.0
VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.-]+)?")


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of it. `version` is empty when none was printed, `problem` one line when it did not start."""

    version: str
    problem: str
    seconds: float
    sandboxed: bool
    memory: int | None


def probe(installation: Installation, env: Mapping[str, str]) -> Probe:
    """Really start it, at most 60 s. Never raises for what the program does."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="probe-") as place:
        try:
            mode = detect(env)
            spec = SandboxSpec(Path(place, "home"), Path(place, "work"), binds=installation.binds)
            with Sandbox(mode, spec) as box:
                argv = installation.argv if box.sandboxed else installation.host_argv
                done = box.run([*argv, "--version"], timeout=SECONDS, cap=64 << 10)
        except BenchError as error:
            return Probe("", error.message(), time.monotonic() - began, False, None)
    said = " ".join(done.text().split())
    found = VERSION.search(said)
    problem = ""
    if done.timed_out:
        problem = f"it did not end within {SECONDS:.0f} s"
    elif done.exit != 0:
        problem = f"it ended with status {done.exit}: {said[-200:] or 'no output'}"
    elif found is None:
        problem = f"it printed no version: {said[:200] or 'no output'}"
    version = found[0] if found and done.exit == 0 else ""
    return Probe(version, problem, time.monotonic() - began, mode.sandboxed, done.rss_peak)


def version_of(installation: Installation, program: Path, env: Mapping[str, str]) -> str:
    """The version that `program` prints, remembered for as long as the file does not change; `unknown` if none."""
    seen = program.stat()
    name = hashlib.sha256(f"{program}\0{seen.st_size}\0{seen.st_mtime_ns}\0{seen.st_ino}".encode()).hexdigest()[:16]
    note = cache_root(env) / "agents" / "versions" / f"{name}.json"
    try:
        return str(json.loads(note.read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    version = probe(installation, env).version
    if not version:
        return "unknown"
    try:
        private_dir(note.parent)
        atomic_write(note, json.dumps({"program": str(program), "version": version}), durable=False)
    except OSError:
        pass  # a cache that cannot be written only costs the next start
    return version
