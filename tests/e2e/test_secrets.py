"""Keys of the host reach neither the agent nor any file of a run, in whatever form the agent prints them."""

from __future__ import annotations

import base64
import json
import os
import urllib.parse
from pathlib import Path

import pytest

from .world import World, attempts

pytestmark = pytest.mark.sandbox
SECRET = 'k3y/with+odd "chars"-and-length-42'
PRINT = r"""
env
cat /proc/self/environ /proc/1/environ 2>/dev/null | tr '\0' '\n' || true
cat ~/secrets.env "$HOME/../secrets.env" /root/secrets.env 2>&1 || true
secret="$(cat leaked.txt)"
echo "raw $secret"
printf %s "$secret" | base64 -w0; echo
printf 'x%s' "$secret" | base64 -w0; echo
python3 - "$secret" <<'PY'
import json, sys, time, urllib.parse
secret = sys.argv[1]
print(urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret))
print(json.dumps(secret), json.dumps(json.dumps(secret)))
for char in secret:
    sys.stdout.write(char); sys.stdout.flush(); time.sleep(0.002)
print()
PY
"""


def forms(secret: str) -> list[str]:
    raw = secret.encode()
    found = [secret, json.dumps(secret)[1:-1], urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret)]
    for pad in (b"", b"x", b"xx"):
        text = base64.b64encode(pad + raw).decode()
        # The middle is the same whatever stands around it.
        found.append(text[4:-4])
    return found


def test_no_form_of_a_key_is_in_any_file_of_a_run(world: World) -> None:
    home = world.root / "home"
    home.mkdir()
    (home / "secrets.env").write_text(f"export GEMINI_API_KEY='{SECRET}'\n")
    (home / "secrets.env").chmod(0o600)
    task = world.task(before=PRINT)
    # The worst case: the agent came by the key on a way that we do not know.
    (task / "workspace").mkdir()
    (task / "workspace" / "leaked.txt").write_text(SECRET)
    finished = world.call("run", *world.matrix(task), HOME=str(home))
    assert finished.returncode == 1, "looking for keys is flagged"
    (run_dir,) = world.runs.iterdir()
    files = [path for path in run_dir.rglob("*") if path.is_file()]
    assert len(files) > 12
    for path in files:
        text = path.read_bytes().decode(errors="replace")
        for form in forms(SECRET):
            assert form not in text, (path.name, form)
        assert path.stat().st_mode & 0o077 == 0, path
    assert all(path.stat().st_mode & 0o077 == 0 for path in run_dir.rglob("*") if path.is_dir())
    for form in forms(SECRET):
        assert form not in finished.stdout + finished.stderr
    (attempt,) = attempts(run_dir, "write-answer__none__scripted")
    (call,) = json.loads((attempt / "results.json").read_text())[0]["trajectory"]
    assert "[GEMINI_API_KEY]" in call["result"], "it was printed and redacted"
    assert "GEMINI_API_KEY=" not in call["result"], "the agent's environment holds no key"


def test_the_agent_sees_nothing_of_the_harness_or_the_host(world: World) -> None:
    """From inside: task, answers, other runs, the host's HOME and keys, admin credentials, harness: all unreadable."""
    home = world.root / "home"
    home.mkdir()
    (home / "secrets.env").write_text("GEMINI_API_KEY=abcdefgh12345678\n")
    (home / "secrets.env").chmod(0o600)
    probe = world.root / "tasks" / "probe"
    looks = [
        str(probe / "task.yaml"),
        str(probe / "solution" / "solve.sh"),
        str(world.runs),
        str(world.state),
        str(home / "secrets.env"),
        str(home),
        "/root",
        os.getcwd(),
        str(Path(__file__).parents[2] / "src"),
    ]
    tries = "\n".join(f"[ -e '{path}' ] && echo 'SEEN {path}'" for path in looks)
    checks = "\n".join(
        (
            f"grep -c -e probe -e '{world.state}' /proc/self/mountinfo",
            "grep -i capeff /proc/self/status",
            "env | grep -ci -e devops -e bench -e harness",
            "ls /proc | grep -c '^[0-9]'",
        )
    )
    world.task("probe", before=f"set +e\n{tries}\n{checks}\nset -e\n")
    finished = world.call("run", *world.matrix(probe), HOME=str(home))
    (run_dir,) = world.runs.iterdir()
    (attempt,) = attempts(run_dir, "probe__none__scripted")
    (record,) = json.loads((attempt / "results.json").read_text())
    (call,) = record["trajectory"]
    assert finished.returncode == 1, "an agent that looks for the answers fails, whatever else it did"
    assert record["cheating_report"]["status"] == "flagged" and record["scores"]["OutcomeScore"]["score"] == 0
    assert "SEEN" not in call["result"]
    hidden, *lines = call["result"].split()
    assert hidden == "0", "no mount names the task, the model or the state folder"
    assert lines[:2] == ["CapEff:", "0000000000000000"]
    assert lines[2] == "0", "no variable names the harness"
    assert int(lines[3]) < 10, "only its own processes"
