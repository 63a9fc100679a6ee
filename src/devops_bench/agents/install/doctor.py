"""Whether the agent programs of this host really work: each is started in the sandbox, as a run would start it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from devops_bench.agents import install
from devops_bench.agents.frame.run import CliAgent, how_to_install
from devops_bench.agents.install import node, store
from devops_bench.agents.install.packages import MIB, Package, lock, package
from devops_bench.agents.install.probe import probe
from devops_bench.errors import BenchError
from devops_bench.sandbox import detect


class State(StrEnum):
    """`ok`, `note` (works, but look), `missing` (not installed, and nobody asked for it), `broken`."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and the command that helps."""

    name: str
    state: State
    text: str
    fix: str = ""


def host(env: Mapping[str, str]) -> list[Finding]:
    """Sandbox, npm and Node of this host."""
    return [_sandbox(env), _npm(env), _node(env)]


def examine(key: str, env: Mapping[str, str], *, wanted: bool) -> list[Finding]:
    """One program: is it there, whole, does it start, is there memory for it. `wanted`: missing is broken."""
    row = package(key)
    try:
        found = install.find(key, env)
    except BenchError as error:
        return [Finding(key, State.BROKEN, error.what, error.fix)]
    if found is None:
        state = State.BROKEN if wanted else State.MISSING
        return [Finding(key, state, "not installed", install.install_line(key))]
    if found.source == "pinned" and not store.whole(store.folder(key, env)):
        return [Finding(key, State.BROKEN, "its files are damaged", install.install_line(key))]
    tried = probe(found, env)
    where = "in the sandbox" if tried.sandboxed else "WITHOUT a sandbox"
    name = f"{key} {found.version} ({found.source})"
    if tried.problem:
        fix = f"correct or unset {row.target}" if found.source == "target" else install.install_line(key)
        return [Finding(name, State.BROKEN, f"{where} {tried.problem}", fix)]
    text = f"starts {where} ({tried.seconds:.1f} s)"
    if found.source == "pinned" and tried.version != found.version:
        return [Finding(name, State.BROKEN, f"says it is {tried.version}", install.install_line(key))]
    findings = [Finding(name, State.OK, text)]
    short = _memory(row)
    return [*findings, short] if short else findings


def examine_other(key: str, agent: CliAgent, env: Mapping[str, str], *, wanted: bool) -> list[Finding]:
    """As `examine`, for the CLI of another package: whether it should answer `--version` is not ours to say."""
    try:
        found = agent.installed(env)
    except BenchError as error:
        return [Finding(key, State.BROKEN, error.what, error.fix)]
    if found is None:
        return [Finding(key, State.BROKEN if wanted else State.MISSING, "not installed", how_to_install(agent.cli))]
    tried = probe(found, env)
    where = "in the sandbox" if tried.sandboxed else "WITHOUT a sandbox"
    name = f"{key} {found.version} ({found.source})"
    if tried.problem:
        text = f"{where} it does not answer --version: {tried.problem}"
        return [Finding(name, State.NOTE, text, "let it print one: records are to tell versions apart")]
    return [Finding(name, State.OK, f"starts {where} ({tried.seconds:.1f} s)")]


def _memory(row: Package) -> Finding | None:
    free = available_memory()
    if free is not None and free < row.memory:
        text = f"takes up to {row.memory // MIB} MiB, {free // MIB} MiB are free"
        return Finding(row.key, State.NOTE, text, "run fewer combos at once")
    if row.heavy and (cores := os.cpu_count() or 1) < 4:
        text = f"keeps two cores busy, this host has {cores}"
        return Finding(row.key, State.NOTE, text, f"run at most {max(1, cores // 2)} of its combos at once")
    return None


def available_memory() -> int | None:
    """MemAvailable in bytes; None where the host does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _sandbox(env: Mapping[str, str]) -> Finding:
    try:
        mode = detect(env)
    except BenchError as error:
        return Finding("sandbox", State.BROKEN, error.what, error.fix)
    if mode.sandboxed:
        return Finding("sandbox", State.OK, f"bubblewrap with user namespaces ({mode.bwrap})")
    return Finding("sandbox", State.NOTE, mode.warning, "install bubblewrap and allow user namespaces")


def _npm(env: Mapping[str, str]) -> Finding:
    found = node.find_npm(env)
    if found is None:
        return Finding("npm", State.NOTE, "none: nothing can be installed", node.HINT)
    return Finding("npm", State.OK, found[-1])


def _node(env: Mapping[str, str]) -> Finding:
    """Node for every pinned program that wants one."""
    ranges = {key: lock(key).node for key in install.installable() if lock(key).package.runs_on_node}
    found = {key: node.find_node(wanted, env, install.pinned_node(env)) for key, wanted in ranges.items()}
    text = ", ".join(f"{item.version} ({item.origin}) for {key}" for key, item in found.items() if item)
    lacking = [key for key, item in found.items() if item is None]
    if not lacking:
        return Finding("node", State.OK, text)
    missing = f"none for {', '.join(lacking)}: `agents install` brings one"
    return Finding("node", State.NOTE, f"{text}; {missing}" if text else missing)
