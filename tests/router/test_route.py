"""Every known failure gets its class from its words and its phase; the same words quoted by others never do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devops_bench.errors import ConfigError
from devops_bench.router import route, table
from devops_bench.router.fingerprint import fingerprint
from devops_bench.settings import FailureClass, Phase

UUID = ("11111111", "2222", "3333", "4444", "555555555555")
CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text().splitlines()]


def described(case: dict[str, Any]) -> str:
    return f"{case['phase']}-{case['class']}-{case['text'][:40] or case.get('exit')}"


@pytest.mark.parametrize("case", CASES, ids=map(described, CASES))
def test_a_failure_gets_its_class_from_words_phase_and_exit_code(case: dict[str, Any]) -> None:
    found = route(case["text"], phase=Phase(case["phase"]), exit=case.get("exit"))
    assert found.klass.value == case["class"], found
    assert (found.row is None) == (found.klass is FailureClass.UNKNOWN)


QUOTING = {
    "tool result": lambda text: json.dumps({"type": "tool_result", "content": text}),
    "step": lambda text: json.dumps({"name": "shell", "args": {"command": "x"}, "result": text, "status": "error"}),
    "assistant": lambda text: json.dumps({"role": "assistant", "content": [{"type": "text", "text": text}]}),
    "item": lambda text: json.dumps({"type": "item.completed", "item": {"type": "command_execution", "output": text}}),
    "event": lambda text: json.dumps({"apiVersion": "v1", "kind": "Event", "message": text}),
    "response": lambda text: json.dumps({"response": text, "stats": {"models": {}}}),
    "pod log": lambda text: "\n".join(f"[pod/api-7d9/server] {line}" for line in text.splitlines()),
}


@pytest.mark.parametrize("quoting", QUOTING)
def test_the_same_words_in_a_transcript_or_a_workload_say_nothing(quoting: str) -> None:
    for case in CASES:
        if case["text"] and case["class"] != "unknown":
            found = route(QUOTING[quoting](case["text"]), phase=Phase(case["phase"]))
            assert found.klass is FailureClass.UNKNOWN, (case, found)


@pytest.mark.parametrize(
    "text",
    [
        "no space left on device",
        "failed to create fsnotify watcher: too many open files",
        "toomanyrequests: You have reached your pull rate limit.",
        'could not find a log line that matches "Reached target .*Multi-User System.*|detected cgroup v1"',
        "[/usr/bin/ssh] exited with return code [255].",
        "Unable to connect to the server: EOF",
        "The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?",
        "etcdserver: request timed out",
        "Quota 'CPUS' exceeded.  Limit: 8.0 in region us-east1.",
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        "x509: certificate has expired or is not yet valid",
        "Bind for 0.0.0.0:80 failed: port is already allocated",
        "fork: Resource temporarily unavailable",
        'no matches for kind "Widget" in version "v1"',
        "googleapi: Error 409: Service account already exists",
    ],
)
def test_faults_of_host_and_cluster_do_not_count_in_the_agents_turn(text: str) -> None:
    """There they may be what the task planted."""
    assert route(text, phase=Phase.AGENT).klass is FailureClass.UNKNOWN
    assert route(text, phase=Phase.SETUP).klass is not FailureClass.UNKNOWN


def test_the_longest_signature_wins() -> None:
    short = "You exceeded your current quota, please check your plan and billing details."
    assert route(short, phase=Phase.AGENT).klass is FailureClass.CONFIG_AUTH
    per_minute = route(f"{short} Please retry in 12s.", phase=Phase.AGENT)
    assert per_minute.klass is FailureClass.INFRA and per_minute.rate_limit
    daily = f"{short} Please retry in 12s.\nquotaId: GenerateRequestsPerDayPerProjectPerModel-FreeTier"
    assert route(daily, phase=Phase.AGENT).klass is FailureClass.CONFIG_AUTH


def test_only_flakes_are_tried_again_and_at_most_twice() -> None:
    for row in table.read(table.shipped()).rows:
        assert row.max_retries <= 2
        assert (row.max_retries > 0) <= (row.klass is FailureClass.INFRA), row.line


def test_colour_spacing_case_and_escapes_do_not_matter() -> None:
    said = "\x1b[31mresource   EXHAUSTED.\n  Please try again later\x1b[0m"
    assert route(said, phase=Phase.AGENT).klass is FailureClass.INFRA
    assert route('err="{\\"code\\":429}"', phase=Phase.AGENT).rate_limit


def test_a_word_is_not_found_inside_another() -> None:
    assert route("the ENOSPCX marker", phase=Phase.SETUP).klass is FailureClass.UNKNOWN
    assert route("ENOSPC", phase=Phase.SETUP).klass is FailureClass.SETUP


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cannot find pod web-7d9f8c6b5d-x2k4j at 10:22:01", "cannot find pod web-6c5d4f7b9b-qq8zt at 23:01:59"),
        ("error 17 of /home/a/x in 3.2s, see http://10.0.0.1:81/b", "error 99 of /tmp/q/z/y in 12s, see http://h/c?d=e"),
        ("failed: c0a1b2c3-eval 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "failed: cffffff1-eval " + "-".join(UUID)),
        ("noise\nFatal: lost the plot", "other noise 4\nFatal: lost the plot"),
    ],
)  # fmt: skip
def test_an_unknown_failure_has_one_fingerprint_on_every_run(one: str, other: str) -> None:
    first, second = route(one, phase=Phase.VERIFY), route(other, phase=Phase.VERIFY)
    assert first.klass is FailureClass.UNKNOWN and first.signature == second.signature
    assert first.signature.startswith("fp-") and first.max_retries == 1


def test_different_failures_and_phases_have_different_fingerprints() -> None:
    names = {
        fingerprint("error: the gadget jammed", Phase.SETUP),
        fingerprint("error: the widget jammed", Phase.SETUP),
        fingerprint("error: the gadget jammed", Phase.VERIFY),
        fingerprint("", Phase.VERIFY, 3),
        fingerprint("", Phase.VERIFY, 4),
    }
    assert len(names) == 5


def test_huge_and_hostile_text_is_bounded() -> None:
    hostile = "[" * 100_000 + '{"a":' * 2_000 + "\x00\x1b[" + "no space left " * 50_000
    assert route(hostile, phase=Phase.SETUP).klass is FailureClass.UNKNOWN
    assert route("x" * 5_000_000 + "\nno space left on device", phase=Phase.SETUP).klass is FailureClass.SETUP


HEADER = "| Symptom / error signature | Root cause | Fix / recovery action | Class |\n|---|---|---|---|\n"


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("| no code span | a | b | Setup |", "3: no signature"),
        ("| `abc` | a | b | Setup |", "3: signature `abc` has fewer than 4"),
        ("| `abcdef` | | b | Setup |", "3: cause or action is empty"),
        ("| `abcdef` | a | b | Cosmic |", "3: unknown class 'Cosmic'"),
        ("| `abcdef` phases: lunch | a | b | Setup |", "3: unknown phase 'lunch'"),
        ("| `abcdef` | a | b max-retries: 9 | Setup |", "3: '9' is not a number from 0 to 2"),
        ("| `abcdef` exit: 999 | a | b | Setup |", "3: '999' is not a number from 0 to 255"),
        ("| `abcdef` | a | Setup |", "3: 3 cells, the header has 4"),
        ("| `abcdef` | a | b | Setup |\n| `ABCDEF` | a | b | Task |", "4: signature `ABCDEF` stands in line 3"),
    ],
)
def test_mistakes_in_a_table_are_named_with_file_and_line(row: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        table.parse(HEADER + row + "\n", Path("issues.md"))
    assert f"issues.md:{what}" in caught.value.message() and "\n" not in caught.value.message()


def test_the_contracts_plain_format_is_read() -> None:
    rows = table.parse(
        HEADER
        + "| Pull fails: `a\\|b pulled`, `` it`s late `` | x | wait | **Infra flake — retry** |\n"
        + "| `hyphen form` | x | wait, `max-retries: 1` | Infra flake - retry |\n"
        + "| `fifth` | x | y | Config / setup |\n",
        Path("x.md"),
    ).rows
    assert [[one.text for one in row.signatures] for row in rows] == [
        ["a|b pulled", "it`s late"],
        ["hyphen form"],
        ["fifth"],
    ]
    assert [row.max_retries for row in rows] == [2, 1, 0]
    assert [row.klass for row in rows] == [FailureClass.INFRA, FailureClass.INFRA, FailureClass.SETUP]


def test_the_shipped_table_covers_the_field_and_lists_what_must_hold_before_a_retry() -> None:
    known = table.read(table.shipped())
    assert len(known.rows) >= 40
    assert {row.klass for row in known.rows} == set(FailureClass) - {FailureClass.UNKNOWN}
    assert [one.key for one in known.before_retry][:4] == ["residue", "lock", "disk", "inotify"]
