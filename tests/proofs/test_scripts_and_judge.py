"""Steps and promises of scripts, and what the pure judge makes of verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.errors import TaskError
from devops_bench.proofs.cases import Case, Kind
from devops_bench.proofs.judge import Judgement, Outcome, coverage, findings
from devops_bench.proofs.scripts import Script, read_scripts
from devops_bench.tasks.spec import Entry
from devops_bench.verification import Status

P, F, E = Status.PASS, Status.FAIL, Status.ERROR


def script(folder: Path, text: str, name: str = "a.sh") -> Script:
    (folder / name).write_text(text)
    return read_scripts(folder)[0]


def entries(*names: str) -> list[Entry]:
    """`!x` is a safeguard."""
    return [
        Entry.model_validate_json(
            f'{{"name": "{name.lstrip("!")}", "role": "{"safeguard" if name[0] == "!" else "objective"}",'
            ' "check": {"type": "file", "file": "x"}}'
        )
        for name in names
    ]


def judgement(moment: str = "after it", **statuses: Status) -> Judgement:
    return Judgement(moment, statuses, {name: f"why {name}" for name in statuses})


def test_a_step_reaches_to_the_next_one_or_the_end(tmp_path: Path) -> None:
    text = "set -e\n# fix: one\nA\n# fix: two\nB\nC\n# end\nD\n"
    found = script(tmp_path, text)
    assert [step.title for step in found.steps] == ["one", "two"]
    assert found.without(found.steps[0]) == "set -e\n\n\n# fix: two\nB\nC\n# end\nD\n"
    assert found.without(found.steps[1]) == "set -e\n# fix: one\nA\n\n\n\n# end\nD\n"


def test_a_step_without_an_end_reaches_to_the_last_line(tmp_path: Path) -> None:
    found = script(tmp_path, "# fix: one\nA\nB")
    assert found.without(found.steps[0]).strip() == ""


def test_what_a_wrong_answer_breaks(tmp_path: Path) -> None:
    assert script(tmp_path, "# breaks: a, b\n").breaks == {"a", "b"}
    loose = script(tmp_path, "# breaks: ..., a\n")
    assert (loose.breaks, loose.others) == ({"a"}, True)
    with pytest.raises(TaskError, match=r"a.sh:2: has two `# breaks:` lines"):
        script(tmp_path, "# breaks: a\n# breaks: b\n")


def wrong(tmp_path: Path, breaks: str) -> Case:
    source = script(tmp_path, f"# breaks: {breaks}\n")
    return Case(Kind.WRONG, "a", source.text, source)


IDLE = Case(Kind.IDLE, "idle")
SOLVED = Case(Kind.SOLUTION, "s")
MINUS = Case(Kind.MINUS, "s without step 1")
BOTH = entries("done", "!kept")


def test_an_idle_task_must_start_unsolved_with_its_safeguards_held() -> None:
    assert findings(Outcome(IDLE, (judgement(done=F, kept=P),)), BOTH) == []
    assert "every objective is met" in findings(Outcome(IDLE, (judgement(done=P, kept=P),)), BOTH)[0]
    assert "safeguard kept does not hold" in findings(Outcome(IDLE, (judgement(done=F, kept=F),)), BOTH)[0]


def test_a_task_that_heals_by_itself_is_found() -> None:
    healed = (judgement("untouched", done=F, kept=P), judgement("after an idle agent", done=P, kept=P))
    assert findings(Outcome(IDLE, healed), BOTH)[0].startswith("done is fail untouched, pass after an idle agent")


def test_a_solution_must_pass_everything_every_time() -> None:
    assert findings(Outcome(SOLVED, (judgement(done=P, kept=P),) * 4), BOTH) == []
    assert findings(Outcome(SOLVED, (judgement(done=P, kept=F),)), BOTH) == ["kept fails: why kept"]
    shaky = (judgement("at look 1", done=P, kept=P), judgement("at look 2", done=P, kept=F))
    assert "kept is pass at look 1, fail at look 2" in findings(Outcome(SOLVED, shaky), BOTH)[0]


def test_a_failed_script_is_quoted() -> None:
    outcome = Outcome(SOLVED, (judgement(done=F, kept=P),), script_exit=127, script_tail="jq: not found")
    assert findings(outcome, BOTH) == ["done fails: why done (the script ended with 127: jq: not found)"]


def test_an_error_is_neither_pass_nor_fail() -> None:
    for case in (IDLE, SOLVED, MINUS):
        assert "kept could not be evaluated" in findings(Outcome(case, (judgement(done=F, kept=E),)), BOTH)[0]


def test_judging_that_changes_something_is_found() -> None:
    outcome = Outcome(SOLVED, (judgement(done=P, kept=P),), moved=("file report.md",))
    assert findings(outcome, BOTH) == ["judging changed file report.md"]


def test_a_step_that_no_check_notices_is_found() -> None:
    assert findings(Outcome(MINUS, (judgement(done=F, kept=P),)), BOTH) == []
    assert "no check notices" in findings(Outcome(MINUS, (judgement(done=P, kept=P),)), BOTH)[0]


def test_a_wrong_answer_must_fail_exactly_what_it_says(tmp_path: Path) -> None:
    case = wrong(tmp_path, "kept")
    assert findings(Outcome(case, (judgement(done=P, kept=F),)), BOTH) == []
    assert findings(Outcome(case, (judgement(done=P, kept=P),)), BOTH) == ["a wrong answer passes everything"]
    assert findings(Outcome(case, (judgement(done=F, kept=F),)), BOTH) == ["done should pass, but fails: why done"]
    assert findings(Outcome(case, (judgement(done=F, kept=P),)), BOTH) == [
        "kept should fail, but passes", "done should pass, but fails: why done",
    ]  # fmt: skip


def test_others_may_fail_too_where_it_says_so(tmp_path: Path) -> None:
    assert findings(Outcome(wrong(tmp_path, "..., kept"), (judgement(done=F, kept=F),)), BOTH) == []


def test_every_entry_must_have_caught_something_alone(tmp_path: Path) -> None:
    ran = [
        Outcome(MINUS, (judgement(done=F, kept=P),)),
        Outcome(wrong(tmp_path, "done, kept"), (judgement(done=F, kept=F),)),
    ]
    alone, missing = coverage(ran, BOTH)
    assert alone == {"done": "minus: s without step 1"}
    assert missing == ["no wrong answer is caught by safeguard kept alone"]
    ran.append(Outcome(wrong(tmp_path, "kept"), (judgement(done=P, kept=F),)))
    assert coverage(ran, BOTH)[1] == []


def test_trouble_is_the_finding() -> None:
    assert findings(Outcome(IDLE, trouble="setup: it is refused"), BOTH) == ["setup: it is refused"]
    assert findings(Outcome(IDLE), BOTH) == ["nothing was judged"]
