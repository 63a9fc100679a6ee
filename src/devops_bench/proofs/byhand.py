"""Lets a person be the agent: the task's world, the agent's rights and sandbox, a shell, then the verdicts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

from devops_bench.proofs.judge import Judgement
from devops_bench.proofs.lab import bench, judgement
from devops_bench.sandbox import SandboxMode
from devops_bench.sandbox.box import Started
from devops_bench.tasks.spec import TaskSpec
from devops_bench.verification import HoldSampler, verify

PORTION = 1 << 16


def by_hand(
    task: TaskSpec,
    mode: SandboxMode,
    *,
    words: IO[bytes],
    tell: Callable[[bytes], None],
    begin: Callable[[TaskSpec], None],
    interactive: bool = False,
    answer: Path | None = None,
    env: Mapping[str, str] = os.environ,
) -> Judgement:
    """Set `task` up, give `words` to a shell in it until they or the shell end, and judge what is there then.

    `begin` gets the task with its placeholders filled once all is ready; `tell` gets the shell's output. `answer` is a
    file with the final answer, read at the end, for tasks that look at it. Raises the error family.
    """
    with bench(task, mode, env) as here:
        entries = here.task.verification_spec
        begin(here.task)
        sampler = HoldSampler(entries, here.context)
        sampler.start()
        try:
            with here.sandbox.start(["bash", "-i"] if interactive else ["bash"]) as shell:
                _converse(shell, words, tell)
        finally:
            tracks = sampler.stop()
        text = answer.read_text(encoding="utf-8") if answer is not None and answer.is_file() else ""
        results = verify(entries, here.task.parse_failures, replace(here.context, answer=text), tracks)
        return judgement("at the end", results)


def _converse(shell: Started, words: IO[bytes], tell: Callable[[bytes], None]) -> None:
    process = shell.tree.process
    into, out = process.stdin, process.stdout
    assert into is not None
    assert out is not None

    def feed() -> None:
        try:
            while portion := os.read(words.fileno(), PORTION):
                into.write(portion)
                into.flush()
            into.close()
        except (OSError, ValueError):
            pass  # the shell has ended

    # It may wait for a terminal for ever: nobody waits for it.
    threading.Thread(target=feed, name="words", daemon=True).start()
    while portion := os.read(out.fileno(), PORTION):
        tell(portion)
