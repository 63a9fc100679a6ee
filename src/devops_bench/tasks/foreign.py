"""`tasks import`: tasks of k8s-ai-bench, run as they are.

Such a task is a folder with a task.yaml of another shape (script steps with `prompt` or `promptFile`, `setup`,
`verifier` and `cleanup` scripts, `expect` with Go regular expressions, `difficulty`, `timeout` as a Go duration,
`isolation`, `disabled`). Its folder is copied unedited into `foreign/` of a task of ours; success means what it meant
there: the verifier ended with 0, or every expectation is met. `cleanup` is not run, because the cluster is thrown away.

What the embedded control plane cannot run (containers, logs, networks, downloads) is told apart by reading the scripts,
and refused with the line that says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devops_bench.errors import ConfigError, TaskError
from devops_bench.tasks.catalogue import TASK_FILE
from devops_bench.tasks.yaml_source import parse, read_text

FOLDER = "foreign"
_DEFAULT_TIMEOUT = 600.0  # seconds; what the format means without one
_LONGEST_VERIFIER = 120.0  # seconds, so that it fits a converge budget


class Step(BaseModel):
    """One message to the agent."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    prompt: str = ""
    promptFile: str = ""


class Expectation(BaseModel):
    """RE2 on what the agent said."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    contains: str = ""
    not_contains: str = ""


class ForeignTask(BaseModel):
    """Its task.yaml. Unknown keys are ignored there, and so here."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    script: list[Step] = Field(default_factory=list)
    setup: str = ""
    verifier: str = ""
    cleanup: str = ""
    expect: list[Expectation] = Field(default_factory=list)
    difficulty: str = ""
    timeout: str = ""
    isolation: str = ""
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one folder: `target` is the written task, or `why` says what stands against it."""

    source: Path
    target: Path | None = None
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether a task was written."""
        return self.target is not None

    def line(self) -> str:
        """For a terminal."""
        if self.target is None:
            return f"{self.source}: cannot run here: {'; '.join(self.why)}"
        return f"{self.source}: {self.target}" + (f" ({'; '.join(self.notes)})" if self.notes else "")

    def as_data(self) -> dict[str, Any]:
        """JSON types."""
        target = str(self.target) if self.target else None
        return {"source": str(self.source), "target": target, "why": list(self.why), "notes": list(self.notes)}


def import_all(source: Path, target: Path) -> list[Imported]:
    """Import `source`, or every task folder below it, into `target/<name>`. Raises ConfigError when there is none."""
    folders = [source] if (source / TASK_FILE).is_file() else sorted(path.parent for path in source.rglob(TASK_FILE))
    if not folders:
        raise ConfigError(f"no {TASK_FILE} below it", where=source, fix="name a k8s-ai-bench task or its tasks folder")
    names = [folder.name for folder in folders]
    return [import_one(folder, target / _unique(folder, names, source)) for folder in folders]


def _unique(folder: Path, names: list[str], source: Path) -> str:
    """The folder's name, with those above it where two are called the same."""
    return folder.name if names.count(folder.name) == 1 else "-".join(folder.relative_to(source).parts)


def import_one(source: Path, target: Path) -> Imported:
    """Import one folder. A task that cannot run, or cannot be read, is not written."""
    try:
        task = read(source)
        prompt = resolve_prompt(task, source)
        timeout = seconds(task.timeout) if task.timeout else _DEFAULT_TIMEOUT
        _regular(task, source)
    except TaskError as error:
        return Imported(source, why=(error.message(),))
    why = tuple(obstacles(task, source))
    if why:
        return Imported(source, why=why)
    if target.exists():
        raise ConfigError("exists already", where=target, fix="remove it, or import elsewhere")
    target.mkdir(parents=True)
    shutil.copytree(source, target / FOLDER, symlinks=True)
    (target / TASK_FILE).write_text(_task_yaml(task, source.name, prompt, timeout), encoding="utf-8")
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    (target / "cluster.yaml").write_text(_yaml({"agent_role": [everything]}), encoding="utf-8")
    if task.setup:
        wrapper = target / "setup" / "10-setup.sh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\ncd "$(dirname "$0")/../{FOLDER}" && exec "./{task.setup}"\n', encoding="utf-8")
        wrapper.chmod(0o755)
    notes = ["cleanup is not run: the cluster is thrown away"] if task.cleanup else []
    notes += ["its steps are told at once"] if len(task.script) > 1 else []
    return Imported(source, target, notes=tuple(notes))


def read(folder: Path) -> ForeignTask:
    """Its task.yaml. Raises TaskError with file:line."""
    file = folder / TASK_FILE
    doc = parse(read_text(file), file)
    try:
        return ForeignTask.model_validate_json(json.dumps(doc.data if isinstance(doc.data, dict) else None))
    except ValidationError as error:
        first = error.errors()[0]
        place = tuple(first["loc"])
        what = f"{'.'.join(map(str, place)) or 'the file'}: {first['msg'].lower()}"
        raise TaskError(what, where=file, line=doc.line(place)) from None


def resolve_prompt(task: ForeignTask, folder: Path) -> str:
    """The text of all steps. Raises TaskError for a step with both sources, with none, or whose file is missing."""
    texts = []
    for number, step in enumerate(task.script, 1):
        where = folder / TASK_FILE
        if bool(step.prompt) == bool(step.promptFile):
            raise TaskError(f"script step {number} needs either prompt or promptFile", where=where)
        if step.promptFile:
            path = folder / step.promptFile
            if not path.resolve().is_relative_to(folder.resolve()):
                raise TaskError(f"promptFile {step.promptFile} lies outside the folder", where=where)
            texts.append(read_text(path).strip())
        else:
            texts.append(step.prompt.strip())
    if not any(texts):
        raise TaskError("has no prompt", where=folder / TASK_FILE)
    return "\n\n".join(texts)


_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def seconds(text: str) -> float:
    """A Go duration (`1h30m`, `90s`, `.5m`, `0`). Raises TaskError."""
    if text in {"0", "+0"}:
        return 0.0
    body = text.removeprefix("+")
    parts = _PART.findall(body)
    if not parts or "".join(number + unit for number, unit in parts) != body:
        raise TaskError(f"timeout {text!r} is not a Go duration such as 90s or 1h30m")
    return float(sum(float(number) * _UNITS[unit] for number, unit in parts))


def _regular(task: ForeignTask, folder: Path) -> None:
    """Expectations are RE2 there. Raises TaskError for one that is not."""
    import re2

    for expectation in task.expect:
        for pattern in filter(None, (expectation.contains, expectation.not_contains)):
            try:
                re2.compile(pattern)
            except re2.error:
                raise TaskError(f"expect {pattern!r} is not a regular expression", where=folder / TASK_FILE) from None


# Options of kubectl that may stand before its command, and have a value of their own: it may be called like a command.
_VALUED = r"(?:n|s|v|namespace|context|cluster|user|kubeconfig|as|as-group|server|token|request-timeout)"
_OPTIONS = rf"(?:\s+--?{_VALUED}(?:=|\s+)\S+|\s+--?(?!{_VALUED}\b)\S+|\s+[\"']?\$\S+)*"

# What a script does that only real containers, networks or other tools can answer.
_OBSTACLES = (
    (re.compile(rf"\bkubectl{_OPTIONS}\s+(exec|logs?|attach|cp|port-forward|debug|top|proxy)\b"), "needs containers"),
    (re.compile(r"\bkubectl\b[^|;&]*\srun\b.*(\s-it?\b|\s-ti\b|\s--rm\b|\s--attach\b)"), "talks to a container"),
    (re.compile(r"^\s*(?:\w+=\S*\s+)*(curl|wget|nc|dig|nslookup)\b|[|(`]\s*(curl|wget)\b"), "needs a network"),
    (re.compile(r"(?:-f|--filename)[ =]*[\"']?https?://"), "downloads manifests"),
    (re.compile(r"^\s*(?:sudo\s+)?(docker|podman|kind|minikube|k3d|helm|vcluster|crictl|gcloud)\s"), "needs this tool"),
    (re.compile(r"CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|RunContainerError"),
     "waits for a state that only a kubelet reports"),
    (re.compile(r"restartCount|lastState|\.state\.(waiting|terminated)"), "reads a state that only a kubelet reports"),
    (re.compile(r"metrics\.k8s\.io|currentMetrics|gatekeeper|constraints?\.gatekeeper", re.I),
     "needs an add-on that is not there"),
)  # fmt: skip


def obstacles(task: ForeignTask, folder: Path) -> Iterator[str]:
    """Why the embedded control plane cannot run it, each with file and line."""
    if task.disabled:
        yield "it is disabled"
    if task.isolation not in {"", "cluster", "namespace", "none"}:
        yield f"isolation {task.isolation!r} is not known"
    if not task.verifier and not any(item.contains or item.not_contains for item in task.expect):
        yield "it has neither a verifier nor expectations"
    for role, name in (("setup", task.setup), ("verifier", task.verifier)):
        if not name:
            continue
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            yield f"{role} {name} is no file of the folder"
        elif not os.access(path, os.X_OK):
            yield f"{role} {name} is not executable"
        else:
            yield from _in_script(path)


def _in_script(path: Path) -> Iterator[str]:
    """Comments do not count; one finding per kind and script is enough."""
    seen = set()
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for pattern, why in _OBSTACLES:
            found = pattern.search(line)
            if found and why not in seen:
                seen.add(why)
                yield f"{path.name}:{number} {why} ({' '.join(found[0].split())[:60]})"


def _task_yaml(task: ForeignTask, name: str, prompt: str, timeout: float) -> str:
    ways: list[dict[str, Any]] = []
    if task.verifier:
        verify = f"{FOLDER}/{task.verifier}"
        ways.append({"type": "script", "file": verify, "timeout_sec": min(timeout, _LONGEST_VERIFIER) or 1})
    if said := list(_said(task)):
        ways.append({"type": "all", "checks": said})
    data: dict[str, Any] = {
        "task_id": name,
        "name": name,
        "infrastructure": {"deployer": "noop", "provider": "kwok"},
        "prompt": prompt,
        "verification_spec": [
            {"name": "success", "check": ways[0] if len(ways) == 1 else {"type": "any", "checks": ways}}
        ],
    }
    if task.difficulty in {"easy", "medium", "hard"}:
        data["difficulty"] = task.difficulty
    return _yaml(data)


def _said(task: ForeignTask) -> Iterator[dict[str, Any]]:
    for item in task.expect:
        if item.contains:
            yield {"type": "answer", "op": "matches", "value": item.contains}
        if item.not_contains:
            given = {"type": "answer", "op": "exists"}
            yield {"type": "all", "checks": [given, {"type": "none", "checks": [
                {"type": "answer", "op": "matches", "value": item.not_contains}]}]}  # fmt: skip


def _yaml(data: dict[str, Any]) -> str:
    """JSON with line breaks: YAML that no quoting rule can change."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
