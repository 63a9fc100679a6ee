"""Scenario files: what is read, and the one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.models.scenario import FaultKind, load_scenario, load_scenarios

GOOD = """
description: knows two tasks
model: [gemini-9-pro, other]
usage: {input: 10}
sections:
  - when: "rollout|paused"
    turns:
      - shell: kubectl get deploy
      - calls:
          - shell: {command: date}
          - file: {action: edit, path: a, old: "1", new: "2"}
      - mcp: {server: k8s, tool: pods_list, args: {namespace: web}}
      - skill: triage
      - tool: {name: odd_tool, args: {x: [1, no]}}
      - {fault: 429, times: 1, text: then this}
      - fault: {status: 503, retry_after: 2}
      - fault: hang
      - Done.
  - when: forever
    repeat_last: true
    turns: [{shell: date}]
turns:
  - I know nothing.
"""


def write(folder: Path, text: str, name: str = "careful.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    one = load_scenario(write(tmp_path, GOOD))
    assert (one.name, one.models, one.usage.input) == ("careful", ("gemini-9-pro", "other"), 10)
    rollout, forever, default = one.sections
    assert [type(verb).__name__ for turn in rollout.turns for verb in turn.every_call()] == [
        "Shell", "Shell", "File", "Mcp", "Skill", "Tool",
    ]  # fmt: skip
    assert rollout.turns[4].tool and rollout.turns[4].tool.args == {"x": [1, "no"]}
    assert [turn.fault.kind for turn in rollout.turns if turn.fault] == [FaultKind.HTTP, FaultKind.HTTP, FaultKind.HANG]
    assert rollout.turns[5].fault_times == 1 and rollout.turns[6].fault_times is None
    assert rollout.turns[-1].text == "Done." and forever.repeat_last and default.turns[0].text == "I know nothing."


def test_the_first_section_that_matches_the_prompt_is_played(tmp_path: Path) -> None:
    one = load_scenario(write(tmp_path, GOOD))
    assert one.section("Fix the PAUSED\nthing") is one.sections[0]
    assert one.section("go on forever") is one.sections[1]
    assert one.section("anything else") is one.sections[2]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("turns:\n  - shel: ls\n", 2, "unknown key 'turns[0].shel'; did you mean shell?"),
        ("turns:\n  - shell: ls\n  - text: 5\n", 3, "turns[1].text must be text"),
        ("turns: []\n", 1, "turns must not be empty"),
        ("turns:\n  - {}\n", 2, "turns[0] says nothing"),
        ("turns:\n  - shell: ls\n    skill: x\n", 2, "put them into `calls`"),
        ("turns:\n  - calls:\n    - {shell: a, skill: b}\n", 3, "exactly one of shell"),
        ("turns:\n  - fault: 200\n", 2, "at least 400"),
        ("turns:\n  - fault: hung\n", 2, "did you mean hang?"),
        ("turns:\n  - fault: {kind: hang, status: 500}\n", 2, "hang has no status"),
        ("turns:\n  - {text: a, times: 2}\n", 2, "has `times` but no fault"),
        ("turns:\n  - file: {action: delete, path: x}\n", 2, "cannot be 'delete'"),
        ("turns:\n  - file: {action: read}\n", 2, "path is missing"),
        ("sections:\n  - turns: [a]\n    when: '['\n", 3, "not a regular expression"),
        ("sections:\n  - when: x\n", 2, "turns is missing"),
        ("usage: {input: -1}\nturns: [a]\n", 1, "at least 0"),
        ("description: empty\n", 1, "plays nothing"),
        ("- a\n", 1, "is not a scenario"),
        ("turns: [a\n", 2, "is not YAML"),
        ("turns:\n  - text: a\n    text: b\n", 3, "given twice"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    message = caught.value.message()
    assert message.startswith(f"{path}:{line}: ") and words in message and "\n" not in message


def test_a_folder_holds_scenarios_by_name(tmp_path: Path) -> None:
    write(tmp_path, "turns: [a]", "a.yaml")
    write(tmp_path, '{"turns": ["b"]}', "b.json")
    write(tmp_path, "not one", ".hidden.yaml")
    write(tmp_path, "not one", "README.md")
    assert sorted(load_scenarios(tmp_path)) == ["a", "b"]
    assert sorted(load_scenarios(tmp_path / "b.json")) == ["b"]


@pytest.mark.parametrize("names", [[], ["a.yaml", "a.yml"], ["bad name.yaml"]])
def test_a_folder_that_cannot_be_served_is_a_configuration_error(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        write(tmp_path, "turns: [a]", name)
    with pytest.raises(ConfigError):
        load_scenarios(tmp_path)


def test_a_missing_folder_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_scenarios(tmp_path / "none")
