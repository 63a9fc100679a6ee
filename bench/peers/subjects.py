"""How each subject is prepared, run, asked and resumed. Trivial combos: no model call, no cluster, no container."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.peers.environments import bin_of, version_of

PLUGINS = Path(__file__).parent / "plugins"
WIDTH = 2
"""Combos at once, for every subject."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of `count` combos below `root`; `slow`: each lasts so long (s) and has something to clean up."""

    root: Path
    count: int
    mark: str
    slow: float = 0.0

    @property
    def marks(self) -> Path:
        """Where combos note `begin NAME` and `end NAME`."""
        return self.root / "marks"


class Subject(ABC):
    """One tool."""

    name: str
    version: str

    @abstractmethod
    def prepare(self, job: Job) -> None:
        """Write the tasks or the definition."""

    @abstractmethod
    def run(self, job: Job) -> list[list[str]]:
        """The commands that start a job and, together, finish it."""

    @abstractmethod
    def resume(self, job: Job) -> list[str]:
        """The command that goes on with it."""

    @abstractmethod
    def status(self, job: Job) -> list[str] | None:
        """The command that says where it stands; None if there is none."""

    @abstractmethod
    def finished(self, job: Job) -> dict[str, int]:
        """Final results by combo, as the tool's own files tell."""

    def drivers(self, job: Job, started: int, family: list[int]) -> list[int]:
        """Whom the kill hits: the process that drives the run."""
        return [started]

    def env(self, job: Job) -> dict[str, str]:
        """The environment of every command; HOME and TMPDIR are inside the job, so that leftovers can be counted."""
        kept = {key: os.environ[key] for key in ("LANG", "PATH") if key in os.environ}
        for folder in ("home", "tmp"):
            (job.root / folder).mkdir(exist_ok=True)
        return {
            **kept,
            "HOME": str(job.root / "home"),
            "TMPDIR": str(job.root / "tmp"),
            "PEERS_TOKEN": job.mark,
            "PEERS_MARKS": str(job.marks),
            "PEERS_SECONDS": str(job.slow),
            **({"PEERS_CONTAINER": "1"} if job.slow else {}),
        }


class DevopsBench(Subject):
    """This project: `run` of tasks without a cluster, agent `noop` (slow: `scripted`, a task's own script)."""

    name = "devops-bench"
    _program = str(Path(sys.executable).parent / "devops-bench")

    def __init__(self) -> None:
        from devops_bench._version import __version__

        self.version = __version__

    def prepare(self, job: Job) -> None:
        for number in range(job.count):
            folder = job.root / "tasks" / f"c{number}"
            folder.mkdir(parents=True)
            head = f"task_id: c{number}\nname: c{number}\ninfrastructure: {{deployer: noop, provider: none}}\n"
            (folder / "task.yaml").write_text(head + "prompt: Do nothing.\n")
            if job.slow:
                (folder / "solution").mkdir()
                (folder / "solution" / "solve.sh").write_text(
                    f"echo begin c{number} >> {job.marks}\nsetsid sleep 3600 </dev/null >/dev/null 2>&1 &\n"
                    f"sleep {job.slow}\necho end c{number} >> {job.marks}\n"
                )

    def env(self, job: Job) -> dict[str, str]:
        return {
            **super().env(job),
            "DEVOPS_BENCH_RUNS": str(job.root / "runs"),
            "BENCH_RUN_STATE_ROOT": str(job.root / "state"),
            "MATRIX_TASKS": " ".join(str(job.root / "tasks" / f"c{number}") for number in range(job.count)),
            "MATRIX_MODELS": "none",
            "MATRIX_AGENT_CONFIGS": "scripted" if job.slow else "noop",
            "MAX_PARALLEL": str(WIDTH),
            **({"BENCH_AGENT_SANDBOX": "off"} if job.slow else {}),
        }

    def run(self, job: Job) -> list[list[str]]:
        return [[self._program, "run"]]

    def resume(self, job: Job) -> list[str]:
        return [self._program, "resume", str(self._run_dir(job))]

    def status(self, job: Job) -> list[str] | None:
        return [self._program, "status", str(self._run_dir(job))]

    def finished(self, job: Job) -> dict[str, int]:
        rows = json.loads((self._run_dir(job) / "rows.json").read_text())
        done: dict[str, int] = {}
        for row in rows:
            if row["status"] == "success":
                done[row["taskFolder"]] = done.get(row["taskFolder"], 0) + 1
        return done

    def drivers(self, job: Job, started: int, family: list[int]) -> list[int]:
        """The supervisor and the command that follows it."""
        return [json.loads((self._run_dir(job) / "supervisor.json").read_text())["pid"], started]

    def _run_dir(self, job: Job) -> Path:
        (found,) = (job.root / "runs").iterdir()
        return found


class Harbor(Subject):
    """A job of N tasks on our folder environment (the shipped ones need an engine or a cloud); trivial agent."""

    name = "harbor"

    def __init__(self) -> None:
        self._harbor = str(bin_of("harbor") / "harbor")
        self.version = version_of("harbor", "harbor")

    def prepare(self, job: Job) -> None:
        for number in range(job.count):
            folder = job.root / "tasks" / f"c{number}"
            for part in ("environment", "tests"):
                (folder / part).mkdir(parents=True)
            (folder / "task.toml").write_text('version = "1.0"\n')
            (folder / "instruction.md").write_text(f"Do nothing. c{number}\n")
            (folder / "environment/Dockerfile").write_text("FROM scratch\n")
            (folder / "tests/test.sh").write_text("#!/bin/bash\n")

    def env(self, job: Job) -> dict[str, str]:
        return {**super().env(job), "PYTHONPATH": str(PLUGINS), "HARBOR_TELEMETRY": "0"}

    def run(self, job: Job) -> list[list[str]]:
        parts = {"--env": "LocalEnvironment", "--agent": "MarkingAgent", "--verifier": "PassVerifier"}
        plugged = [word for flag, name in parts.items() for word in (flag, f"harbor_local:{name}")]
        where = ["-p", str(job.root / "tasks"), "-o", str(job.root / "jobs"), "--job-name", "job"]
        return [[self._harbor, "run", *where, *plugged, "-n", str(WIDTH), "-q", "-y"]]

    def resume(self, job: Job) -> list[str]:
        return [self._harbor, "job", "resume", "-p", str(job.root / "jobs/job")]

    def status(self, job: Job) -> list[str] | None:
        return None

    def finished(self, job: Job) -> dict[str, int]:
        done: dict[str, int] = {}
        for path in (job.root / "jobs/job").glob("*/result.json"):
            result = json.loads(path.read_text())
            if result.get("exception_info") is None and result.get("verifier_result"):
                name = Path(result["task_name"]).name
                done[name] = done.get(name, 0) + 1
        return done


class Inspect(Subject):
    """`eval_set` of N tasks of one sample each: a combo has a log and a status of its own, as everywhere else here."""

    name = "inspect-ai"
    shape = "tasks"

    def __init__(self) -> None:
        self._bin = bin_of("inspect")
        self.version = version_of("inspect", "inspect-ai")

    def prepare(self, job: Job) -> None:
        pass

    def env(self, job: Job) -> dict[str, str]:
        env = super().env(job)
        return {
            **env,
            "PATH": f"{self._bin}:{env['PATH']}",
            "PEERS_COUNT": str(job.count),
            "PEERS_WIDTH": str(WIDTH),
            "PEERS_SHAPE": self.shape,
            "PEERS_LOGS": str(job.root / "logs"),
        }

    def run(self, job: Job) -> list[list[str]]:
        return [[str(self._bin / "python"), str(PLUGINS / "inspect_combos.py")]]

    def resume(self, job: Job) -> list[str]:
        return self.run(job)[0]

    def status(self, job: Job) -> list[str] | None:
        return [str(self._bin / "inspect"), "log", "list", "--log-dir", str(job.root / "logs"), "--json"]

    def finished(self, job: Job) -> dict[str, int]:
        return _successes(self._bin, job, self.env(job))


class InspectSamples(Inspect):
    """N samples of one Inspect task: the cheapest way, with one log and one status for all."""

    name = "inspect-ai, samples of one task"
    shape = "samples"


class Steward(Inspect):
    """Steward over the same `eval_set`, two workers; without its timer, we call `tend` when the workers have ended."""

    name = "inspect-steward"
    shape = "steward"

    def __init__(self) -> None:
        super().__init__()
        self.version = f"{version_of('inspect', 'inspect-steward')} (inspect-ai {self.version})"

    def prepare(self, job: Job) -> None:
        (job.root / "work").mkdir()
        (job.root / "work/evalset.py").write_text((PLUGINS / "inspect_combos.py").read_text())

    def run(self, job: Job) -> list[list[str]]:
        steward = str(self._bin / "steward")
        quiet = ["--no-notification", "--no-log-root", "--no-log-store", "--no-sync"]
        launch = [steward, "launch", "evalset.py", "--no-timer", *quiet, "--max-workers", str(WIDTH)]
        return [[steward, "init", "--no-git"], launch, self.resume(job)]

    def resume(self, job: Job) -> list[str]:
        return [str(self._bin / "steward"), "tend", "--max-workers", str(WIDTH), "--no-sync"]

    def status(self, job: Job) -> list[str] | None:
        return [str(self._bin / "steward"), "status", "--json"]

    def drivers(self, job: Job, started: int, family: list[int]) -> list[int]:
        """Its workers: nothing else runs between two turns."""
        return family


def _successes(bin_dir: Path, job: Job, env: Mapping[str, str]) -> dict[str, int]:
    code = (
        "import json, sys\n"
        "from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries as s\n"
        "done = {}\n"
        "for info in list_eval_logs(sys.argv[1]):\n"
        "    if read_eval_log(info, header_only=True).status == 'success':\n"
        "        for row in s(info):\n"
        "            done[row.id] = done.get(row.id, 0) + (row.error is None)\n"
        "print(json.dumps(done))\n"
    )
    argv = [str(bin_dir / "python"), "-c", code, str(job.root / "logs")]
    found = subprocess.run(argv, env=dict(env), stdout=subprocess.PIPE, check=True)
    counts: dict[str, int] = json.loads(found.stdout.splitlines()[-1])
    return counts
