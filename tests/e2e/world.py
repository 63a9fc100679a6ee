"""A small world for end-to-end tests: tasks of its own, the real program as a subprocess, and looks at what it left."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).parent / "devops-bench")

NONE_TASK = """\
task_id: {name}
name: {name}
infrastructure: {{deployer: noop, provider: none}}
prompt: Write the word ready into answer.txt.
verification_spec:
  - name: answered
    check: {{type: file, file: answer.txt, op: contains, value: ready}}
"""
SOLUTION = "#!/usr/bin/env bash\nset -eu\n{before}\n# fix: answer\necho ready > answer.txt\n# end\n"


@dataclass
class World:
    """Roots below one temporary folder; `run` calls the real program."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    def environment(self, **more: str) -> dict[str, str]:
        # The smoke gate has tests of its own; here it would double what every launch costs.
        base = {**os.environ, "BENCH_SMOKE": "off"}
        base |= {"DEVOPS_BENCH_RUNS": str(self.runs), "BENCH_RUN_STATE_ROOT": str(self.state)}
        return {**base, **self.env, **more}

    def task(self, name: str = "write-answer", before: str = "", text: str = NONE_TASK) -> Path:
        """A `none` task whose solution first runs `before`."""
        folder = self.tasks / name
        (folder / "solution").mkdir(parents=True)
        (folder / "task.yaml").write_text(text.format(name=name))
        script = folder / "solution" / "solve.sh"
        script.write_text(SOLUTION.format(before=before))
        script.chmod(0o755)
        return folder

    def call(self, *args: str, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
        """Run `devops-bench ARGS` to its end."""
        return subprocess.run(
            [PROGRAM, *args], capture_output=True, text=True, timeout=timeout, env=self.environment(**env)
        )

    def launch(self, *args: str, **env: str) -> Path:
        """`run --detach`: the run folder. Fails the test with the program's words when it was refused."""
        done = self.call("run", "--detach", *args, **env)
        assert done.returncode == 0, done.stderr
        stamp = [line for line in done.stdout.splitlines() if line.startswith("STAMP=")]
        assert len(stamp) == 1, done.stdout
        return self.runs / stamp[0].removeprefix("STAMP=")

    def release(self, rid: str) -> None:
        """Write `go` into a combo's workspace: the host sees its folder, only its own processes what lies on it."""
        folder = (self.state / rid / "workspace").resolve()
        (folder / "go").write_text("")
        for pid, _command in processes(str(self.root)):
            with contextlib.suppress(OSError):
                (Path(f"/proc/{pid}/root") / folder.relative_to("/") / "go").write_text("")

    def matrix(self, *tasks: Path, models: str = "none", configs: str = "scripted", **more: str) -> list[str]:
        """Flags for a matrix."""
        flags = ["--tasks", " ".join(f"'{task}'" for task in tasks), "--models", models, "--configs", configs]
        for name, text in more.items():
            flags += [f"--{name.replace('_', '-')}", text]
        return flags


def events(run_dir: Path) -> list[dict[str, Any]]:
    """The journal, a torn last line left out."""
    raw = (run_dir / "journal.jsonl").read_bytes() if (run_dir / "journal.jsonl").exists() else b""
    return [json.loads(line) for line in raw[: raw.rfind(b"\n") + 1].splitlines()]


def of(run_dir: Path, *names: str) -> list[dict[str, Any]]:
    """Events of these names."""
    return [event for event in events(run_dir) if event["event"] in names]


def until(condition: Callable[[], Any], what: str, timeout: float = 60) -> Any:
    """Wait for a condition that some other process makes true; fails with `what` after a generous deadline."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"did not happen within {timeout:g} s: {what}")


def done(run_dir: Path, timeout: float = 120) -> None:
    """Wait for `.done`."""
    until(
        lambda: (run_dir / ".done").exists(),
        f"{run_dir.name} is done: {[e['event'] for e in events(run_dir)][-5:]}",
        timeout,
    )


def working(run_dir: Path, count: int = 1) -> None:
    """Wait until `count` agents have begun to work: their workspaces are what `release` can reach."""
    until(lambda: len([e for e in of(run_dir, "phase") if e["phase"] == "agent"]) >= count, "the agent works", 120)


def attempts(run_dir: Path, rid: str) -> list[Path]:
    """Attempt folders, in order."""
    return sorted(path for path in (run_dir / rid).iterdir() if path.is_dir())


def processes(needle: str) -> Iterator[tuple[int, str]]:
    """Living processes whose command line or environment names `needle` (a path of this test)."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            stat = (entry / "stat").read_text()
            if stat[stat.rindex(")") + 2] == "Z":
                continue
            for name in ("cmdline", "environ"):
                if needle.encode() in (entry / name).read_bytes():
                    yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    break
        except OSError:
            continue


def assert_no_residue(world: World) -> None:
    """No process, socket, port or folder of this world is left."""
    until(lambda: not list(processes(str(world.root))), f"processes end: {list(processes(str(world.root)))}", 30)
    planes = world.state / "planes"
    assert not planes.exists() or list(planes.iterdir()) == []
    left = [path.name for path in world.state.iterdir() if path.name != "planes"] if world.state.exists() else []
    assert left == []
