"""A whole verification: budgets, order, waiting, and an API server that stops answering."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.errors import ConfigError
from devops_bench.kube import Deadline, KubeClient
from devops_bench.tasks.spec import ParseFailure
from devops_bench.verification import HoldSampler, Limits, Status, VerifyContext, assert_once, rollup, verify
from devops_bench.verification.bounded import spawn
from devops_bench.verification.sharing import Runs
from tests.kube.plane import Plane

from .builders import LIMITS, FakeSandbox, entry

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
GOOD, BAD = (0, "", ""), (1, "", "no")
PATIENCE = 60.0


def command(name: str, first: str, **fields: Any) -> Any:
    return entry(name, "command", command=[first], timeout_sec=500, **fields)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def wants(name: str, value: str, **fields: Any) -> Any:
    return entry(
        name, "resource_property", kind="ConfigMap", resource_name=name, path="data.k", op="eq", value=value, **fields
    )


def test_one_slow_entry_eats_nobody_elses_time_and_scores_do_not_change_with_the_order() -> None:
    """Seen elsewhere: entries were evaluated one after the other out of one purse, so a slow one made the rest fail."""
    release = threading.Event()
    sandbox = FakeSandbox({"hang": lambda _s: release.wait(PATIENCE) and GOOD, "good": GOOD, "bad": BAD})
    limits = replace(LIMITS, converge=0.6, total=5, once=0.6)
    context = VerifyContext(sandbox_run=sandbox, limits=limits)
    entries = [
        command("slow", "hang"),
        command("a", "good", weight=3),
        command("b", "bad"),
        command("c", "good", role="safeguard"),
    ]
    try:
        seen = set()
        for first in range(len(entries)):
            order = entries[first:] + entries[:first]
            results = verify(order, [], context, None)
            assert [r.name for r in results] == [e.name for e in order]
            seen.add(tuple(sorted((r.name, r.status.value) for r in results)))
        assert seen == {(("a", "pass"), ("b", "fail"), ("c", "pass"), ("slow", "error"))}
    finally:
        release.set()


kinds = st.lists(st.sampled_from(["good", "bad", "error"]), min_size=1, max_size=6)


@given(kinds, st.randoms())
@settings(max_examples=25, deadline=None)
def test_any_order_of_entries_gives_the_same_scores(names: list[str], random: Any) -> None:
    sandbox = FakeSandbox({"good": GOOD, "bad": BAD, "error": OSError("broken")})
    context = VerifyContext(sandbox_run=sandbox, limits=replace(LIMITS, once=0.5))
    entries = [command(f"e{n}", name, weight=n + 0.1) for n, name in enumerate(names)]
    shuffled = list(entries)
    random.shuffle(shuffled)
    assert rollup(verify(shuffled, [], context)) == rollup(verify(entries, [], context))


def test_unreadable_entries_are_reported_last_as_unmet_objectives() -> None:
    context = VerifyContext(sandbox_run=FakeSandbox({"good": GOOD}), limits=LIMITS)
    results = verify([command("a", "good")], [ParseFailure(name="bad", reason="unknown op", line=3)], context)
    assert [(r.name, r.status) for r in results] == [("a", PASS), ("bad", FAIL)]
    assert rollup(results).scores["VerificationCorrectness"] == 0.5


def test_workspace_entries_are_judged_once_and_without_waiting() -> None:
    sandbox = FakeSandbox({"bad": BAD})
    context = VerifyContext(sandbox_run=sandbox, limits=replace(LIMITS, converge=PATIENCE * 10, total=PATIENCE * 20))
    assert verify([command("b", "bad")], [], context)[0].status is FAIL
    assert len(sandbox.ran) == 1


def test_equal_commands_of_a_pass_run_once_and_every_entry_judges_that_answer_by_itself() -> None:
    sandbox = FakeSandbox({"lists": lambda _s: (0, f'{{"runs": {len(sandbox.ran)}}}', "")})
    fields = {"path": "$.runs", "op": "eq"}
    entries = [command(f"o{n}", "lists", value=n, **fields) for n in range(1, 4)]
    entries += [command(f"s{n}", "lists", value=n, role="safeguard", **fields) for n in range(1, 4)]
    results = verify(entries, [], VerifyContext(sandbox_run=sandbox, limits=LIMITS))
    assert [r.name for r in results if r.status is PASS] == ["o1", "s2"], "one run for objectives, one for safeguards"


def test_who_asks_while_the_same_command_runs_waits_for_its_answer() -> None:
    begun = threading.Semaphore(0)

    def slow(_seconds: float) -> tuple[int, str, str]:
        for _ in range(3):
            assert begun.acquire(timeout=PATIENCE)
        return GOOD

    def ask() -> tuple[int, str, str]:
        begun.release()
        return runs.answer(["slow"], 5.0, Deadline.after(PATIENCE))

    sandbox = FakeSandbox({"slow": slow})
    runs = Runs(sandbox)
    assert [one.result(PATIENCE) for one in [spawn(ask, f"asks {n}") for n in range(3)]] == [GOOD] * 3
    assert len(sandbox.ran) == 1


def test_an_error_is_nobody_elses_and_a_limit_of_its_own_makes_it_another_run() -> None:
    sandbox = FakeSandbox({"x": [OSError("blip"), GOOD, TimeoutError(), GOOD]})
    runs = Runs(sandbox)
    with pytest.raises(OSError, match="blip"):
        runs.answer(["x"], 5.0, Deadline.after(PATIENCE))
    assert runs.answer(["x"], 5.0, Deadline.after(PATIENCE)) == GOOD
    assert runs.answer(["x"], 5.0, Deadline.after(PATIENCE)) == GOOD
    with pytest.raises(TimeoutError):
        runs.answer(["x"], 5.4, Deadline.after(PATIENCE))
    assert len(sandbox.ran) == 3


def test_an_error_of_an_entry_that_is_judged_once_is_looked_at_again() -> None:
    sandbox = FakeSandbox({"flaky": [OSError("blip"), GOOD]})
    context = VerifyContext(sandbox_run=sandbox, limits=LIMITS)
    guard = command("g", "flaky", role="safeguard")
    assert assert_once([guard], context)[0].status is ERROR, "a single pass is a single pass"
    sandbox = FakeSandbox({"flaky": [OSError("blip"), GOOD]})
    assert verify([guard], [], replace(context, sandbox_run=sandbox))[0].status is PASS


def test_a_report_item_has_exactly_the_keys_of_the_format() -> None:
    context = VerifyContext(sandbox_run=FakeSandbox({"good": GOOD}), limits=LIMITS)
    plain = {
        "name",
        "role",
        "severity",
        "weight",
        "mode",
        "success",
        "status",
        "reason",
        "elapsed_time",
        "children",
        "title",
        "description",
        "group",
        "failure_hint",
    }
    held = {
        "hold_sample_count",
        "hold_error_count",
        "hold_first_violation_reason",
        "hold_first_violation_at_sec",
        "hold_observed_window_sec",
    }
    entries = [
        command("o", "good"),
        command("s", "good", role="safeguard", severity="catastrophic"),
        command("h", "good", role="safeguard", mode="hold"),
    ]
    with HoldSampler(entries, context) as sampler:
        pass
    objective, guard, hold = (result.as_report() for result in verify(entries, [], context, sampler))
    assert set(objective) == plain
    assert set(hold) == plain | held
    assert (objective["role"], objective["severity"], objective["mode"]) == ("objective", None, "converge")
    assert (guard["role"], guard["severity"], guard["mode"]) == ("safeguard", "catastrophic", "assert")
    assert (hold["severity"], hold["mode"], hold["success"], hold["status"]) == ("recoverable", "hold", True, "pass")


class Counting(KubeClient):
    """A client that counts its lists by kind and scope."""

    lists: Counter[tuple[str, str | None]]

    def list(self, kind: str, namespace: str | None = None, *args: Any, **kwargs: Any) -> Any:
        self.lists[kind.lower(), namespace] += 1
        return super().list(kind, namespace, *args, **kwargs)


@pytest.mark.kwok
def test_one_list_per_kind_serves_all_entries_of_a_pass(plane: Plane, namespace: str) -> None:
    with Counting.from_kubeconfig(plane.kubeconfigs["admin"]) as kube:
        kube.lists = Counter()
        kube.create(config_map("a", k="1"), namespace)
        entries = [replace_name(wants("a", "1"), f"e{n}") for n in range(12)]
        entries += [
            entry(f"d{n}", "pod_healthy", selector="a=b", namespace=ns)
            for n, ns in enumerate([namespace, "default", "kube-system"])
        ]
        context = VerifyContext(kube=kube, namespace=namespace, limits=LIMITS)
        assert [r.status for r in assert_once(entries, context)] == [PASS] * 12 + [FAIL] * 3
        assert kube.lists == Counter({("configmap", namespace): 1, ("pods", None): 1})


def replace_name(found: Any, name: str) -> Any:
    return found.model_copy(update={"name": name})


@pytest.mark.kwok
def test_a_change_wakes_the_waiting_entry_and_others_keep_waiting(kube: KubeClient, namespace: str) -> None:
    kube.create(config_map("a", k="0"), namespace)
    kube.create(config_map("b", k="0"), namespace)
    context = VerifyContext(
        kube=kube, namespace=namespace, limits=replace(LIMITS, converge=PATIENCE, total=PATIENCE * 2, quiescence=8.0)
    )
    changed = threading.Timer(1.0, lambda: kube.patch("cm", "a", {"data": {"k": "1"}}, namespace))
    changed.start()
    results = {r.name: r for r in verify([wants("a", "1"), wants("b", "1")], [], context)}
    changed.join()
    assert (results["a"].status, results["b"].status) == (PASS, FAIL)
    assert results["a"].elapsed < results["b"].elapsed


@pytest.mark.kwok
def test_waiting_ends_early_once_the_cluster_is_at_rest(kube: KubeClient, namespace: str) -> None:
    kube.create(config_map("a", k="0"), namespace)
    context = VerifyContext(
        kube=kube, namespace=namespace, limits=replace(LIMITS, converge=600, total=700, quiescence=0.5)
    )
    started = time.monotonic()
    assert verify([wants("a", "1")], [], context)[0].status is FAIL
    # Ten times what it takes here, and a quarter of the budget: it did not wait for the end of it.
    assert time.monotonic() - started < 150


@pytest.mark.kwok
def test_a_frozen_api_server_is_an_error_in_time_and_costs_the_workspace_entries_nothing(
    plane: Plane, namespace: str
) -> None:
    with plane.client() as kube:
        kube.create(config_map("a", k="1"), namespace)
        sandbox = FakeSandbox({"good": GOOD, "bad": BAD})
        limits = replace(LIMITS, converge=3.0, total=20.0, call=0.5, once=2.0, hold_interval=0.2)
        context = VerifyContext(kube=kube, namespace=namespace, sandbox_run=sandbox, limits=limits)
        entries = [
            wants("a", "1"),
            entry("pods", "pod_healthy", selector="a=b"),
            entry("dry", "dry_run", manifest="{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}"),
            command("good", "good"),
            command("bad", "bad"),
            replace_name(wants("a", "1", role="safeguard", severity="catastrophic"), "fatal"),
            replace_name(wants("a", "1", role="safeguard", mode="hold"), "held"),
            replace_name(wants("a", "1", mode="hold", hold=0.5), "window"),
        ]
        assert {r.name: r.status for r in assert_once([entries[0], entries[5]], context)} == {"a": PASS, "fatal": PASS}
        with plane.frozen():
            started = time.monotonic()
            with HoldSampler(entries, context) as sampler:
                pass
            results = {r.name: r for r in verify(entries, [], context, sampler)}
            assert time.monotonic() - started < PATIENCE
        assert {name: r.status for name, r in results.items()} == {
            "a": ERROR,
            "pods": ERROR,
            "dry": ERROR,
            "good": PASS,
            "bad": FAIL,
            "fatal": ERROR,
            "held": ERROR,
            "window": ERROR,
        }
        assert rollup(list(results.values())).catastrophic_unresolved
        again = replace(context, limits=replace(limits, converge=PATIENCE, total=PATIENCE * 2, call=10.0))
        assert verify([entries[0]], [], again)[0].status is PASS, "it answers again after"


@pytest.mark.kwok
def test_a_cluster_that_freezes_for_a_moment_while_waiting_costs_only_time(plane: Plane, namespace: str) -> None:
    with plane.client() as kube:
        kube.create(config_map("a", k="0"), namespace)
        limits = replace(LIMITS, converge=PATIENCE, total=PATIENCE * 2, call=0.5, quiescence=20.0)
        context = VerifyContext(kube=kube, namespace=namespace, limits=limits)
        errored = threading.Event()
        outcome: list[Any] = []
        waiter = threading.Thread(target=lambda: outcome.extend(verify([wants("a", "1")], [], context)))
        with plane.frozen():
            waiter.start()
            errored.wait(1.5)  # several calls time out meanwhile
        with plane.client(timeout=PATIENCE) as other:
            other.patch("cm", "a", {"data": {"k": "1"}}, namespace)
        waiter.join(PATIENCE * 2)
        assert outcome[0].status is PASS


@pytest.mark.kwok
def test_the_hold_sampler_sees_a_break_on_a_real_cluster(kube: KubeClient, namespace: str) -> None:
    kube.create(config_map("a", k="1"), namespace)
    guard = wants("a", "1", role="safeguard", mode="hold")
    context = VerifyContext(kube=kube, namespace=namespace, limits=LIMITS)
    sampler = HoldSampler([guard], context)
    sampler.start()
    kube.delete("configmap", "a", namespace)
    sampler.stop()
    result = verify([guard], [], context, sampler)[0]
    assert result.status is FAIL
    assert "no ConfigMap a" in result.as_report()["hold_first_violation_reason"]


def test_limits_come_from_the_settings_table_and_the_environment() -> None:
    found = Limits.from_env({"BENCH_HOLD_INTERVAL_SEC": "2.5"})
    assert (found.converge, found.total, found.quiescence, found.hold_interval) == (120, 600, 3, 2.5)
    with pytest.raises(ConfigError, match="BENCH_HOLD_INTERVAL_SEC"):
        Limits.from_env({"BENCH_HOLD_INTERVAL_SEC": "often"})
