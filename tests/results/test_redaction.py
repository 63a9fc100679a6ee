"""With the real redactor: no form of a secret is in any file of an attempt, and the files stay what they are."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from devops_bench.redact import Redactor
from devops_bench.results.environment import Environment
from devops_bench.results.read import read_manifest, read_records, read_rows
from devops_bench.results.record import Record, RecordStatus
from devops_bench.results.setup import Setup
from devops_bench.results.write import write_attempt, write_json

SECRET = 'p@ss/w"rd\\n+= 0123456789é'
FORMS = {
    "raw": SECRET,
    "url": quote(SECRET, safe=""),
    "json": json.dumps(SECRET)[1:-1],
    "json-utf8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    **{f"base64-{i}": base64.b64encode(b"x" * i + SECRET.encode() + b"tail").decode() for i in range(3)},
}
SETUP = Setup(model="m", harness="api", run_id="run_20260131_120000_a", t="2026-01-31T12:00:00Z")


@pytest.fixture
def redactor() -> Redactor:
    return Redactor({"AGENT_API_KEY": SECRET})


def hidden(text: str) -> bool:
    """No form of the secret, nor the middle of it, nor its core in any base64 alignment."""
    cores = [base64.b64encode(SECRET.encode()[i:])[:20].decode() for i in range(3)]
    return not any(piece in text for piece in (*list(FORMS.values())[:4], "0123456789", *cores))


@pytest.mark.parametrize("form", FORMS)
def test_no_file_of_an_attempt_holds_any_form_of_a_secret(tmp_path: Path, redactor: Redactor, form: str) -> None:
    leak = f"before {FORMS[form]} after"
    audit = tmp_path / "raw"
    audit.write_text(json.dumps({"requestURI": leak, "n": 1}) + "\n" + leak)
    record = Record(
        name="t", folder="a", status=RecordStatus.SUCCESS, output=leak, errors=[leak], terminal_reason="completed",
        trajectory=[{"name": leak, "args": {leak: [{"deep": leak}]}, "result": leak, "status": "ok"}],
        verification_report=[{"name": "c", "role": "objective", "status": "fail", "reason": leak}],
        served_models=[leak], cheating_report={"status": "clean", "findings": [{"excerpt": leak}]},
        scores={"OutcomeScore": {"score": 0.5, "version": "v1", "reason": leak}},
    )  # fmt: skip
    environment = Environment(auth_mode="api-key", sandbox={"kind": leak}, network="closed", agent={"version": leak})
    attempt = tmp_path / "rid" / "run_20260131_120000_a"
    write_attempt(
        attempt, record, SETUP, environment, redactor, trajectory={"steps": [{"message": leak}]}, audit_log=audit
    )
    write_json(attempt / "attempt.json", {"reason": leak, leak: 1}, redactor)
    files = sorted(attempt.iterdir())
    assert len(files) == 7
    for path in files:
        assert hidden(path.read_text()), path.name
    assert "AGENT_API_KEY" in (attempt / "results.json").read_text()
    assert read_rows(attempt / "rows.json")[0]["outcomeScore"] == 0.5
    assert read_records(attempt / "results.json")[0]["folder"] == "a"
    assert read_manifest(attempt / "manifest.json")["setupId"] == "m-api"
