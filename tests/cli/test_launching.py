"""The smoke gate of a launch, budgets as they are typed, and who is already running."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from devops_bench import smoke
from devops_bench.cli import launching
from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import AgentConfig, Combo, Plan, PlanOptions
from devops_bench.smoke.verdict import Verdict
from devops_bench.supervisor.orders import Orders, matrix_id
from devops_bench.supervisor.schedule import Budget


def plan(*presets: str, models: tuple[str, ...] = ("gemini-2.5-pro",)) -> Plan:
    combos = tuple(
        Combo(f"t__{model}__{preset}", "c0000000", "c0000000-eval", "/t/task.yaml", "t", "t", "none", model,
              AgentConfig(preset, preset.split("+")[0]))
        for preset in presets
        for model in models
    )  # fmt: skip
    return Plan("", combos, PlanOptions(3, 60, 10), "2026-11-29T00:00:00Z")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, list[str]]]:
    """What the smoke test was asked; configurations called `bad` fail it."""
    calls: list[tuple[str | None, list[str]]] = []

    def check(configs: Any, options: Any, env: Any, how: Any) -> Any:
        calls.append((how.model, [config.preset for config in configs]))
        rows = [
            SimpleNamespace(
                config=config.preset,
                line="the transcript is empty" if config.preset == "bad" else "fine",
                verdict=Verdict.BAD if config.preset == "bad" else Verdict.GOOD,
            )
            for config in configs
        ]
        return SimpleNamespace(rows=rows, work=Path("/tmp/smoke"))

    monkeypatch.setattr(smoke, "check", check)
    return calls


def test_the_gate_asks_each_configuration_once_and_notes_it(asked: list[Any]) -> None:
    passed = launching.smoke_gate(plan("api", "gcli", "noop", models=("a", "b")), {}, Orders(smoke="scripted"))
    assert asked == [(None, ["api", "gcli"])]
    assert "smoke gate passed" in passed.notes[-1]


def test_a_real_smoke_asks_every_model_under_test(asked: list[Any]) -> None:
    launching.smoke_gate(plan("api", models=("a", "scripted:x", "b")), {}, Orders(smoke="real"))
    assert asked == [("a", ["api"]), ("b", ["api"])]


def test_a_configuration_that_is_not_what_it_says_stops_the_launch(asked: list[Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        launching.smoke_gate(plan("api", "bad"), {}, Orders(smoke="scripted"))
    assert caught.value.exit_code == 2
    assert "bad is not what its label says: the transcript is empty" in caught.value.message()
    assert "devops-bench smoke bad" in caught.value.message()


def test_a_skipped_gate_is_noted_and_agents_without_a_model_need_none(asked: list[Any]) -> None:
    skipped = launching.smoke_gate(plan("api"), {}, Orders(smoke="off"))
    assert "--no-smoke" in skipped.notes[-1]
    quiet = plan("noop", "scripted")
    assert launching.smoke_gate(quiet, {}, Orders(smoke="scripted")) is quiet
    assert asked == []


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1.5m", 90), ("2h", 7200), ("1 d", 86400)])
def test_durations(text: str, seconds: float) -> None:
    assert launching.Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "1w", "nan", "1h30m"])
def test_a_malformed_duration_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="not a duration"):
        launching.Duration().convert(text, None, None)


def test_the_identity_of_a_matrix_is_what_runs_and_how() -> None:
    one = plan("api")
    assert matrix_id(one) == matrix_id(replace(one, stamp="x", created="y", notes=("n",)))
    assert matrix_id(one) != matrix_id(plan("api", "noop"))
    assert matrix_id(one) != matrix_id(replace(one, options=replace(one.options, agent_timeout_sec=61)))


def test_orders_are_read_back_and_damage_is_named(tmp_path: Path) -> None:
    orders = Orders("m1", Budget(1.5, 100, 60.0), hands_off=True, smoke="real", fixer=("a", "b"))
    orders.write(tmp_path)
    assert Orders.read(tmp_path) == orders
    assert orders.with_budget(None, 7, None).budget == Budget(1.5, 7, 60.0)
    (tmp_path / "orders.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"orders\.json"):
        Orders.read(tmp_path)
    (tmp_path / "orders.json").unlink()
    assert Orders.read(tmp_path) == Orders()
