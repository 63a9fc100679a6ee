"""What a series of samples proves, and that sampling is watched from the first moment to the last."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.kube import Deadline
from devops_bench.verification import HoldSampler, HoldTrack, Limits, Status, Verdict, VerifyContext, verify
from devops_bench.verification.hold import hold_windows

from .builders import FakeSandbox, entry

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
GOOD, BAD = (0, "", ""), (1, "", "it broke")


def track(*statuses: Status) -> HoldTrack:
    made = HoldTrack()
    for place, status in enumerate(statuses):
        made.add(float(place), Verdict(status, f"sample {place}"))
    return made


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), ERROR),
        ((PASS,), PASS),
        ((ERROR,), ERROR),
        ((FAIL,), FAIL),
        ((PASS, FAIL, PASS), FAIL),
        ((ERROR, FAIL), FAIL),
        ((FAIL, ERROR, ERROR), FAIL),
        ((PASS, ERROR), PASS),
        ((PASS, ERROR, ERROR), ERROR),
        ((ERROR, ERROR, PASS), PASS),
        ((ERROR, PASS, ERROR), PASS),
        ((ERROR, ERROR), ERROR),
    ],
)
def test_any_fail_fails_and_no_all_or_two_last_errors_are_an_error(
    statuses: tuple[Status, ...], expected: Status
) -> None:
    assert track(*statuses).verdict().status is expected


@given(st.lists(st.sampled_from(list(Status)), max_size=10))
def test_a_track_passes_only_if_it_was_seen_to_hold_and_never_to_break(statuses: list[Status]) -> None:
    verdict = track(*statuses).verdict().status
    if FAIL in statuses:
        assert verdict is FAIL
    elif verdict is PASS:
        assert PASS in statuses[-2:]
    else:
        assert not statuses or PASS not in statuses[-2:]


def test_the_report_names_the_first_violation() -> None:
    report = track(PASS, ERROR, FAIL, FAIL).report().as_report()
    assert report == {
        "hold_sample_count": 4,
        "hold_error_count": 1,
        "hold_first_violation_reason": "sample 2",
        "hold_first_violation_at_sec": 2.0,
        "hold_observed_window_sec": 3.0,
    }


def context(sandbox: FakeSandbox, interval: float = 60.0) -> VerifyContext:
    return VerifyContext(
        sandbox_run=sandbox, limits=Limits(converge=5, total=10, quiescence=1, hold_interval=interval, call=2, once=5)
    )


def guard(name: str, command: str) -> object:
    return entry(name, "command", role="safeguard", mode="hold", command=[command])


def test_a_sample_is_forced_at_the_start_and_at_the_end() -> None:
    sandbox = FakeSandbox({"a": GOOD})
    sampler = HoldSampler([guard("g", "a")], context(sandbox))
    sampler.start()
    assert len(sandbox.ran) == 1, "the first sample is taken before the agent's first act"
    tracks = sampler.stop()
    assert tracks["g"].report().sample_count == 2
    assert tracks["g"].verdict().status is PASS


def test_a_state_that_is_broken_when_the_agent_ends_is_seen_however_long_the_interval() -> None:
    sandbox = FakeSandbox({"a": [GOOD, BAD]})
    with HoldSampler([guard("g", "a")], context(sandbox)) as sampler:
        pass
    results = verify([guard("g", "a")], [], context(sandbox), sampler)
    assert results[0].status is FAIL
    assert results[0].as_report()["hold_first_violation_reason"].endswith("it broke")


def test_a_break_in_between_counts_though_it_is_healed_at_the_end() -> None:
    broken = threading.Event()
    answers = [GOOD, BAD, GOOD]

    def answer(_seconds: float) -> tuple[int, str, str]:
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if found is BAD:
            broken.set()
        return found

    sampler = HoldSampler([guard("g", "a")], context(FakeSandbox({"a": answer}), interval=0.01))
    sampler.start()
    assert broken.wait(20)
    assert sampler.stop()["g"].verdict().status is FAIL


def test_a_safeguard_that_hangs_neither_delays_the_others_nor_the_end() -> None:
    release = threading.Event()
    seen = threading.Event()
    calls: list[int] = []

    def count(_seconds: float) -> tuple[int, str, str]:
        calls.append(1)
        if len(calls) >= 5:
            seen.set()
        return GOOD

    sandbox = FakeSandbox({"hang": lambda _s: release.wait(60) and GOOD, "ok": count})
    limits = Limits(converge=5, total=10, quiescence=1, hold_interval=0.01, call=0.3, once=5)
    sampler = HoldSampler([guard("h", "hang"), guard("g", "ok")], VerifyContext(sandbox_run=sandbox, limits=limits))
    sampler.start()
    assert seen.wait(20)
    tracks = sampler.stop()
    release.set()
    assert tracks["g"].verdict().status is PASS
    assert tracks["h"].verdict().status is ERROR


def test_a_hold_safeguard_that_was_never_sampled_is_an_error() -> None:
    assert verify([guard("g", "a")], [], context(FakeSandbox({"a": GOOD})), None)[0].status is ERROR


def test_a_hold_objective_is_observed_for_its_window_after_the_others() -> None:
    sandbox = FakeSandbox({"first": GOOD, "held": GOOD})
    entries = [entry("h", "command", mode="hold", hold=0.3, command=["held"]), entry("o", "command", command=["first"])]
    results = {r.name: r for r in verify(entries, [], context(sandbox, interval=0.05), None)}
    assert sandbox.ran[0] == ("first",)
    assert results["h"].status is PASS
    report = results["h"].as_report()
    assert report["hold_observed_window_sec"] >= 0.3
    assert report["hold_sample_count"] >= 2


def test_windows_run_side_by_side_and_one_that_is_cut_short_is_an_error() -> None:
    sandbox = FakeSandbox({"a": GOOD})
    entries = [
        entry("short", "command", mode="hold", hold=0.1, command=["a"]),
        entry("long", "command", mode="hold", hold=60, command=["a"]),
    ]
    tracks = hold_windows(entries, context(sandbox, interval=0.05), Deadline.after(0.4))
    assert tracks["short"].verdict().status is PASS
    assert tracks["long"].verdict().status is ERROR
    assert "of 60 s" in tracks["long"].verdict().reason
