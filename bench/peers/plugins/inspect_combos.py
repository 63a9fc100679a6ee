"""One Inspect `Task` per combo, as an `eval_set` definition. Runs in Inspect's own environment; Steward reads it too.

Each combo is one task with one sample, `mockllm/model` and a solver that returns at once: no model call, no sandbox.
With
PEERS_SHAPE=samples all combos are samples of one task instead, which is the cheapest way that Inspect has.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

from inspect_ai import Task, eval_set, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver


def _mark(what: str, name: str) -> None:
    if path := os.environ.get("PEERS_MARKS"):
        with open(path, "a") as file:
            file.write(f"{what} {name}\n")


@solver
def marking() -> Solver:
    """Do nothing for PEERS_SECONDS; note begin and end in PEERS_MARKS."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        name = state.input_text
        _mark("begin", name)
        idle = (
            subprocess.Popen(["sleep", "3600"], start_new_session=True) if os.environ.get("PEERS_CONTAINER") else None
        )
        try:
            if seconds := float(os.environ.get("PEERS_SECONDS") or 0):
                await asyncio.sleep(seconds)
        finally:
            if idle is not None:
                idle.kill()
                idle.wait()
        _mark("end", name)
        return state

    return solve


@scorer(metrics=[accuracy()])
def always() -> Scorer:
    """Every combo passes."""

    async def score(state: TaskState, target: object) -> Score:
        return Score(value=1)

    return score


def _task(name: str, inputs: list[str]) -> Task:
    samples = [Sample(input=text, target="x", id=text) for text in inputs]
    return Task(name=name, dataset=MemoryDataset(samples), solver=marking(), scorer=always())


@task
def combo(name: str) -> Task:
    """One combo."""
    return _task(name, [name])


@task
def batch(count: int) -> Task:
    """All combos as samples of one task."""
    return _task("batch", [f"c{number}" for number in range(count)])


COUNT = int(os.environ["PEERS_COUNT"])
WIDTH = int(os.environ["PEERS_WIDTH"])
SHAPE = os.environ.get("PEERS_SHAPE") or "tasks"

done, _logs = eval_set(
    tasks=[batch(COUNT)] if SHAPE == "samples" else [combo(f"c{number}") for number in range(COUNT)],
    log_dir=os.environ["PEERS_LOGS"],
    model="mockllm/model",
    max_tasks=None if SHAPE == "steward" else WIDTH,  # Steward's width is its number of workers
    max_samples=WIDTH,
    display="none",
    retry_attempts=0,
)
sys.exit(0 if done else 1)
