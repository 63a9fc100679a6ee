"""`doctor` ends with 3 when something is missing, as every other look at the host does."""

from __future__ import annotations

import json

import pytest

from devops_bench.cli import doctor, run_command
from devops_bench.cli.doctor import Line


def one(ok: bool) -> Line:
    return Line("clusters", "kubectl", ok, "1.34" if ok else "not found", "checks need it", "install it")


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 3)])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_exit_code_says_whether_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ok: bool, code: int, flags: list[str]
) -> None:
    for area in ("agents", "keys", "host", "unfinished"):
        monkeypatch.setattr(doctor, area, lambda env: iter(()))
    monkeypatch.setattr(doctor, "clusters", lambda env: iter([one(ok)]))
    assert run_command("doctor", flags, "devops-bench doctor") == code
    out = capsys.readouterr().out
    if flags:
        assert [line["ok"] for line in json.loads(out)] == [ok]
    else:
        assert ("MISS kubectl: not found" in out) is not ok
