"""Nothing that an agent can read repeats a sentence of what it must not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.proofs.statics import static_problems
from devops_bench.tasks import load_task
from devops_bench.tasks.scaffold import scaffold

SENTENCE = "the selector names a label that no pod of the shop has"


def problems(folder: Path) -> list[str]:
    return [line for line in static_problems(load_task(folder)) if "can read a sentence" in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scaffold(tmp_path / "web", "none")
    return tmp_path / "web"


@pytest.mark.parametrize("hidden", ["README.md", "solution/sed.sh", "wrong/rewrite.sh"])
@pytest.mark.parametrize("visible", ["workspace/notes.md", "setup/10-x.yaml"])
def test_a_copied_sentence_is_found_wherever_it_stands(folder: Path, hidden: str, visible: str) -> None:
    (folder / hidden).write_text(f"#!/bin/sh\n# Because {SENTENCE}.\n")
    assert problems(folder) == []
    (folder / visible).parent.mkdir(exist_ok=True)
    (folder / visible).write_text(f"# {SENTENCE.upper()},\n# it seems\n")
    (found,) = problems(folder)
    assert f"a sentence of {hidden}: 'the selector names" in found


def test_short_phrases_and_comments_of_written_files_are_no_leak(folder: Path) -> None:
    (folder / "workspace" / "tool.sh").write_text(f"# {SENTENCE}\n")
    (folder / "solution" / "sed.sh").write_text(
        f"#!/bin/sh\n# the selector names a label\nset -e\n# fix: write it\ncat > tool.sh <<'X'\n# {SENTENCE}\nX\n"
    )
    assert problems(folder) == []
