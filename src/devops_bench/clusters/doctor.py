"""What this host has for clusters and what is missing, one finding each with the command that helps.

Looks only: nothing is installed, started or changed. A probe that fails is a finding, never an exception.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from devops_bench.clusters import binary, capacity, gotool, host
from devops_bench.clusters.capacity import Demand, Finding
from devops_bench.errors import BenchError
from devops_bench.paths import state_root
from devops_bench.process import supported
from devops_bench.settings import integer

LEAST_KERNEL = "5.10"  # pidfds in waitid and epoll
PROBE_TIMEOUT = 20.0


def examine(env: Mapping[str, str] = os.environ) -> list[Finding]:
    """All findings about this host, good and bad, in the order in which a person would fix them."""
    probes: tuple[Callable[[Mapping[str, str]], Iterator[Finding]], ...] = (_system, _binary, _go, _tools, _capacity)
    found: list[Finding] = []
    for probe in probes:
        name = probe.__name__.lstrip("_")
        try:
            found += probe(env)
        except BenchError as error:
            found.append(Finding(name, False, "cannot be examined", error.what, error.fix))
        except (OSError, ValueError) as error:
            found.append(Finding(name, False, "cannot be examined", f"reading failed: {error}", "mount /proc and /sys"))
    return [replace(finding, need="", fix="") if finding.ok else finding for finding in found]


def _system(env: Mapping[str, str]) -> Iterator[Finding]:
    release = f"{sys.platform} {os.uname().release}"
    fix = f"run on Linux {LEAST_KERNEL} or newer (other systems: attach, report and remote runs only)"
    yield Finding("system", supported(), release, "pidfds are missing", fix)


def _binary(env: Mapping[str, str]) -> Iterator[Finding]:
    found = binary.locate(env)
    if found is None:
        yield Finding("control plane", False, "not installed", "kwok clusters need it", "devops-bench clusters install")
        return
    versions = binary.versions(found.path)
    yield Finding(
        "control plane", True, f"kubernetes {versions.get('kubernetes', '?')} from {found.origin}: {found.path}"
    )


def _go(env: Mapping[str, str]) -> Iterator[Finding]:
    sources = binary.source_dir()
    wanted = gotool.wanted_version(sources) if sources else "1.26"
    go, passed = gotool.find(wanted, env)
    if go is not None:
        yield Finding("go", True, f"{go.version} ({go.origin}): {go.program}")
        return
    # Only a build needs Go.
    built = _has_binary(env)
    have = "; ".join(passed) or "not found"
    fix = gotool.INSTALL_HINT.format(wanted=wanted)
    yield Finding(
        "go", built, f"{have} (not needed now)" if built else have, f"a build needs Go {wanted} or newer", fix
    )


def _tools(env: Mapping[str, str]) -> Iterator[Finding]:
    path = env.get("PATH", os.defpath)
    git = shutil.which("git", path=path)
    yield Finding("git", git is not None, git or "not found", "workspace tasks need it", "apt install git")
    kubectl = shutil.which("kubectl", path=path)
    inside = _has_binary(env)
    have = kubectl or ("inside the control plane" if inside else "not found")
    fix = "devops-bench clusters install, or install kubectl"
    yield Finding("kubectl", bool(kubectl or inside), _with_version(kubectl, have), "cluster tasks need it", fix)


def _capacity(env: Mapping[str, str]) -> Iterator[Finding]:
    parallel = integer("max_parallel", env)
    here = host.look(state_root(env))
    demand = Demand.of(parallel, parallel + integer("pool_size", env), env)
    yield from capacity.assess(here, demand)
    most = capacity.fitting_planes(here, demand)
    yield Finding("clusters at once", most > 0, f"{most} fit ({here.cores} cores)", "none fits", "free memory or disk")


def _has_binary(env: Mapping[str, str]) -> bool:
    """True when there is a control plane; an unusable setting is told by the probe of the binary alone."""
    try:
        return binary.find(env) is not None
    except BenchError:
        return False


def _with_version(program: str | None, have: str) -> str:
    """`have` with the version that kubectl reports, when it does."""
    if program is None:
        return have
    try:
        reply = subprocess.run(
            [program, "version", "--client"], capture_output=True, text=True, timeout=PROBE_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return have
    match = re.search(r"v(\d+\.\d+\.\d+)", reply.stdout)
    return f"{match[1]}: {have}" if match else have
