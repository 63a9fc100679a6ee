"""The HTML file: self-contained, without script, and harmless whatever an agent wrote."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from devops_bench.report import charts, details, html
from devops_bench.report.load import load_run
from devops_bench.report.model import Run

from .runs import RunFolder, call, check, combo

EVIL = (
    '</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>"\' onload="x" {{7*7}} {% raw %} '
    "\x1b[2J\x00\u202e javascript:x"
)


class Page(HTMLParser):
    """What a browser would see: elements with attributes, and text outside of style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(showcase_run: Run) -> Page:
    return Page(html.render(showcase_run))


def hostile(root: Path) -> Run:
    folder = RunFolder(root, notes=(EVIL,))
    evil = call(EVIL, {EVIL: EVIL, "n": 1}, EVIL, EVIL)
    odd: dict[str, Any] = {"name": None, "args": None, "result": {"a": [1]}, "status": "error"}
    finding = {"severity": EVIL, "category": EVIL, "excerpt": EVIL}
    record = {
        "output": EVIL, "trajectory": [evil, odd],
        "served_models": [EVIL], "cheating_report": {"status": EVIL, "findings": [finding, "no object"]},
        "task_metadata": {"title": EVIL, "summary": EVIL, "category": EVIL, "tags": [EVIL], "check_groups": {}},
    }  # fmt: skip
    bad = check("c", EVIL, title=EVIL, reason=EVIL, failure_hint=EVIL, group=EVIL, severity=EVIL, mode=EVIL)
    folder.attempt(folder.add(combo("common/a", "m", "api")), state="failed", checks=[bad], record=record, auth=EVIL)
    outcome = {"class": EVIL, "phase": EVIL, "signature": EVIL, "reason": EVIL, "residue": [EVIL]}
    folder.attempt(folder.add(combo("common/b", "m", "api")), state="invalid", outcome=outcome)
    return load_run(folder.finish())


SAFE_ATTRIBUTES = re.compile(r"^(on\w+|style|srcset|srcdoc|action|formaction|background|poster)$")


def assert_harmless(page: Page) -> None:
    forbidden = {"script", "iframe", "object", "embed", "link", "base", "form", "img", "image", "use", "foreignobject"}
    assert not forbidden & {name for name, _attrs in page.elements}
    for name, attrs in page.elements:
        assert not [key for key in attrs if SAFE_ATTRIBUTES.match(key)], (name, attrs)
        href = attrs.get("href")
        assert href is None or re.fullmatch(r"#c\d+", href)
        assert "src" not in attrs


def test_the_page_is_self_contained_and_has_no_script(page: Page) -> None:
    assert_harmless(page)


def test_the_content_policy_allows_this_stylesheet_and_nothing_else(showcase_run: Run, page: Page) -> None:
    text = html.render(showcase_run)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policies = [attrs["content"] for _name, attrs in page.elements if attrs.get("http-equiv")]
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert "@import" not in style
    assert "url(" not in style


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    text = html.render(hostile(tmp_path))
    page = Page(text)
    assert_harmless(page)
    assert "<script>alert(1)</script>" in page.text
    assert "{{7*7}}" in page.text
    assert not set(text) & {"\x1b", "\x00", "\u202e"}


def test_ids_are_unique_and_links_lead_to_them(page: Page) -> None:
    ids = [attrs["id"] for _name, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {str(attrs["href"])[1:] for _name, attrs in page.elements if attrs.get("href")}
    assert targets
    assert targets <= set(ids)


def test_all_parts_are_there(page: Page) -> None:
    for words in (
        "19 / 21 scored of planned", "Leaderboard", "Task × setup", "Scored combos 19 of 21", "Invalid combos",
        "Unfinished combos", "Left behind by teardown", "Notes of the plan", "Bad pods are denied",
        "A policy without a binding denies nothing", "kubectl get pods -A", "2 reads, 1 write, 1 refused",
        "Integrity findings", "calls left out", "18.2k / 912 / 19.2k", "claude-opus-5", "5 / 3 / 1",
    ):  # fmt: skip
        assert words in page.text, words
    sections = [attrs["class"] for name, attrs in page.elements if name == "details" and attrs.get("class")]
    assert len(sections) == 21


def test_invalid_combos_stand_apart_and_have_no_score(page: Page) -> None:
    at = page.text.index("Invalid combos")
    card = page.text[at : at + 600]
    assert "score – checks – time – cost –" in card
    assert "401 invalid x-api-key" in card


def test_a_long_transcript_is_trimmed_in_the_middle(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    calls = [call("bash", {"command": f"step {i}"}, "x" * 10_000) for i in range(500)]
    folder.attempt(folder.add(combo("a", "m", "api")), record={"trajectory": calls, "output": "y" * 100_000})
    run = load_run(folder.finish())
    read = details.read(run.combos[0])
    assert len(read.calls) == details.CALLS_SHOWN
    assert [one.args for one in (read.calls[0], read.calls[-1])] == ["step 0", "step 499"]
    assert read.left_out == 440
    assert max(len(one.result) for one in read.calls) == details.RESULT_CHARS + 1
    assert len(read.output) == details.OUTPUT_CHARS + 1
    assert "440 calls left out" in html.render(run)
    assert len(html.render(run)) < 200_000


def test_details_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    attempt = folder.attempt(folder.add(combo("a", "m", "api")))
    run = load_run(folder.finish())
    (attempt / "results.json").write_text('[{"trajec')
    assert "not valid JSON" in details.read(run.combos[0]).problem
    (attempt / "results.json").write_text('[{"trajectory": 5, "cheating_report": [], "output": {"a": 1}}]')
    read = details.read(run.combos[0])
    assert (read.calls, read.findings, read.output) == ((), (), '{"a": 1}')
    (attempt / "results.json").unlink()
    assert details.read(run.combos[0]).problem == ""
    assert Page(html.render(run)).text


def test_the_heat_map_keeps_invalid_out_of_its_rates(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for repeat, state in enumerate(["scored", "failed", "invalid"]):
        folder.attempt(folder.add(combo("a", "m", "api", repeat)), state=state, score=1.0 if state == "scored" else 0.0)
    run = load_run(folder.finish())
    [(task, [cell])] = charts.heat_map(run, ["m · api"], {})
    assert (task, cell.text, cell.level, cell.invalid) == ("a", "1/2", 5, 1)


def test_the_file_is_private_and_folders_are_made(showcase_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    html.write(showcase_run, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_an_empty_bar_and_strip_are_drawn_without_fault() -> None:
    empty = Run("s", Path(), (), 0, complete=True, done=False)
    assert "<rect" not in charts.verdict_bar(empty)
    assert charts.strip([]) == ""
    assert len(charts.strip(["ok"] * 2000)) < 300_000
