"""Tasks for the matrix: written to disk where files matter, built in memory where only the axes do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.matrix.plan import PlanOptions
from devops_bench.matrix.presets import parse_config
from devops_bench.matrix.select import Selected
from devops_bench.matrix.spec import MatrixSpec, TaskRef
from devops_bench.tasks.spec import TaskSpec

OPTIONS = PlanOptions(max_parallel=3, agent_timeout_sec=1200, agent_max_turns=100)

FILE_CHECK = """
verification_spec:
  - name: answer
    check: {type: file, file: answer.txt, op: contains, value: ok}
"""


@pytest.fixture
def write_task(tmp_path: Path) -> Callable[..., Path]:
    """Writes `<tmp>/<folder>/task.yaml` and returns it."""

    def write(folder: str, *, provider: str = "none", body: str = FILE_CHECK) -> Path:
        file = tmp_path / folder / "task.yaml"
        file.parent.mkdir(parents=True)
        name = file.parent.name
        file.write_text(f"task_id: '{name}'\nprompt: Do it.\ninfrastructure: {{provider: {provider}}}\n{body}")
        return file

    return write


def selected(key: str, **fields: object) -> Selected:
    """A loaded task that exists in memory alone."""
    folder = Path("/tasks") / key
    spec = TaskSpec.model_validate({"folder": folder, "key": key, "task_id": key, "name": key, "prompt": "x", **fields})
    return Selected(folder / "task.yaml", spec, f"sha256:{key}")


def spec_of(
    *configs: str, models: tuple[str, ...] = ("m",), repeats: int = 1, options: PlanOptions = OPTIONS, **more: object
) -> MatrixSpec:
    """A MatrixSpec without tasks, for `plan_of`."""
    parsed = tuple(parse_config(config)[0] for config in configs or ("noop",))
    return MatrixSpec((), models, parsed, options, repeats=repeats, **more)  # type: ignore[arg-type]


def refs(base: Path, *words: str) -> tuple[TaskRef, ...]:
    """Tasks as written, relative to `base`."""
    return tuple(TaskRef(word, base) for word in words)
