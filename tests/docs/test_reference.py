"""The reference pages say what the program does: settings with name, default and unit; commands with codes and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from devops_bench import cli, settings
from devops_bench.errors import ExitCode
from devops_bench.matrix import axes

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SETTINGS, COMMANDS = (REFERENCE / "settings.md").read_text(), (REFERENCE / "commands.md").read_text()
ALL = "\n".join(path.read_text() for path in sorted(REFERENCE.parent.rglob("*.md")))
VARIABLES = sorted({row.env for row in settings.TABLE.values() if row.env})


def rows(page: str) -> Iterator[list[str]]:
    """Cells of every table row."""
    for line in page.splitlines():
        if line.startswith("|") and not line.startswith("|--"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# -- settings ---------------------------------------------------------------------------------------------------------


def default_of(variable: str) -> str:
    """The default that settings.md names; of an axis of the matrix, matrix.md's."""
    for page in (SETTINGS, (REFERENCE / "matrix.md").read_text()):
        for cells in rows(page):
            if variable in spans(cells[0]):
                return cells[1 if page is SETTINGS else 4]
    raise AssertionError(f"{variable} stands in no table")


@pytest.mark.parametrize(
    "row", [row for row in settings.TABLE.values() if row.env], ids=lambda row: f"{row.env}-{row.value:g}"
)
def test_every_setting_is_told_with_its_default_and_its_unit(row: settings.Default) -> None:
    said = default_of(str(row.env))
    wanted = f"{row.value:g}" if row.env == "MAX_PARALLEL" else f"{row.value:g} {row.unit}"
    assert re.search(rf"(?<![\d.]){re.escape(wanted)}\b", said), f"{row.env}: {said!r} instead of {wanted!r}"


@pytest.mark.parametrize("heading", ["Limits of an attempt", "Supervision"])
def test_no_default_is_told_that_the_table_does_not_hold(heading: str) -> None:
    section = SETTINGS.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    told = {name for cells in rows(section) if re.match(r"\d", cells[1]) for name in spans(cells[0])}
    assert told and told <= set(VARIABLES)


def test_every_variable_that_is_known_stands_in_the_documents() -> None:
    known = axes._KNOWN
    assert [name for name in sorted(known) if not re.search(rf"\b{name}\b", ALL)] == []


# -- commands ---------------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that can be typed, groups opened."""
    for name, (module, _text) in cli.COMMANDS.items():
        found = import_module(f"devops_bench.cli.{module}").command
        if isinstance(found, click.Group):
            yield from ((f"{name} {verb}", one) for verb, one in found.commands.items())
        else:
            yield name, found


EVERY = dict(commands())


def told() -> dict[str, list[str]]:
    """The row of each command in commands.md. After `known-issues check`, `append` is one of the same group."""
    found: dict[str, list[str]] = {}
    for cells in rows(COMMANDS.split("| command |", 1)[1].split("\n## ", 1)[0]):
        group = ""
        for name in spans(cells[0]):
            group = name.split()[0] if name in EVERY and " " in name else group
            found[f"{group} {name}" if f"{group} {name}" in EVERY else name] = cells
    return found


def test_every_command_has_a_row_and_every_row_a_command() -> None:
    table = told()
    assert sorted(set(EVERY) - set(table)) == []
    assert {name for name in table if name not in EVERY} == {"run --dry-run", "python -m devops_bench"}


@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_row_says_whether_there_is_json(name: str) -> None:
    has = any("--json" in option.opts for option in EVERY[name].params)
    cell = told()[name][2]
    said = f"`{name}`:" in cell if name in {"events", "logs"} else bool(cell)
    assert said is has, f"{name}: {cell!r}"


@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_codes_that_a_help_text_names_stand_in_its_row(name: str) -> None:
    text = " ".join((EVERY[name].help or "").split())
    said = re.search(r"\bexit:? (\d[^.]*)", text, re.IGNORECASE)
    if said is None:
        return
    for code in re.findall(r"(?:^|; )(\d+)(?=:| )", said[1]):
        row = told()[name][1]
        assert re.search(rf"\b{code}\b", row) or code == str(int(ExitCode.USAGE)), f"{name}: {code} is not in {row!r}"


def test_the_table_of_exit_codes_is_that_of_the_program() -> None:
    first = COMMANDS.split("| command |", 1)[0]
    assert [int(cells[0]) for cells in rows(first) if cells[0].isdigit()] == [int(code) for code in ExitCode]
    in_help = re.findall(r"(\d+) (?:all|a task|usage|invalid|already|the follower|interrupted)", cli.root_help())
    assert sorted({int(code) for code in in_help}) == [int(code) for code in ExitCode]
