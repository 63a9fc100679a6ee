"""What an agent cannot do to its MCP evidence, and what the server itself cannot see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.sandbox import SandboxMode
from tests.boxes import MakeBox, make_box, mode
from tests.gateway.mcp_parts import SERVER, RelayPeer, SocketPeer, gateway, servers, wait_for

__all__ = ["make_box", "mode"]
pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]


def test_an_agent_reaches_neither_the_record_nor_the_server(
    mode: SandboxMode, make_box: MakeBox, tmp_path: Path
) -> None:
    marker = str(tmp_path / "marker")
    with gateway(mode, tmp_path, marker) as made:
        box = make_box(mode, reach=(made.endpoint,))
        grant = made.grant(box)
        with RelayPeer(box, grant) as client:
            client.hello()
            assert client.text("echo", text="real") == "real"
            server = servers(marker)[0]
            attack = f"""
                for file in {tmp_path}/mcp.jsonl {tmp_path}/mcp/home/.kube/config {SERVER}; do
                    echo forged >>"$file"; cat "$file"
                done
                echo x >>/run/agent/mcp-relay
                kill -9 {server}; ps axww; cat /proc/[0-9]*/cmdline; ls /proc/{server}/fd
                ls -la {tmp_path}
            """
            done = box.run(["/bin/bash", "-c", attack], timeout=60)
            said = done.text()
            assert "Read-only file system" in said or "Permission denied" in said
            assert "mcp_server" not in said.replace(str(SERVER), "")
            assert client.text("echo", text="still alive") == "still alive"
    record = [json.loads(line) for line in (tmp_path / "mcp.jsonl").read_text().splitlines()]
    assert [line["arguments"]["text"] for line in record] == ["real", "still alive"]
    assert made.problem is None


def test_a_forged_connection_of_the_agent_is_recorded_like_any_other(
    mode: SandboxMode, make_box: MakeBox, tmp_path: Path
) -> None:
    with gateway(mode, tmp_path, guard=lambda _tool, _args: "no") as made:
        box = make_box(mode, reach=(made.endpoint,))
        host, port = made.grant(box).address
        call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"code":"out=1"}}}'
        talk = f"""
            exec 3<>"/dev/tcp/$1/$2"; printf '%s\\n' "$3" >&3
            echo '{call}' >&3
            IFS= read -r -t 20 line <&3; echo "got: $line"
        """
        wrong = box.run(["/bin/bash", "-c", talk, "talk", host, str(port), "0" * 64], timeout=60)
        assert "result" not in wrong.text()
        assert made.calls() == ()
        # The token lies in the agent's own sandbox. It opens the same guarded door as the CLI's.
        token = "$(sed -n \"s/^printf.* '\\(.*\\)' >&3$/\\1/p\" /run/agent/mcp-relay)"
        right = box.run(["/bin/bash", "-c", talk.replace('"$3"', f'"{token}"'), "talk", host, str(port)], timeout=60)
        assert '"isError":true' in right.text()
    assert [(call.tool, call.status.value) for call in made.calls()] == [("run", "blocked")]


def test_the_server_sees_its_own_files_and_nothing_of_the_run(mode: SandboxMode, tmp_path: Path) -> None:
    secret = tmp_path / "answers"
    secret.mkdir()
    (secret / "solution.sh").write_text("the answer")
    code = f"""
import os, socket
out = [os.environ.get("HOME"), sorted(os.environ), os.path.exists({str(secret)!r}), os.listdir("/tmp")]
for address in (("169.254.169.254", 80), ("1.1.1.1", 443)):
    try:
        socket.create_connection(address, 3)
        out.append("connected")
    except OSError:
        out.append("closed")
"""
    with gateway(mode, tmp_path, env={"EXTRA": "1"}, hidden=(secret,)) as made, SocketPeer(made.grant()) as client:
        client.hello()
        said = client.text("run", code=code)
    assert "/home/agent" in said and "'EXTRA'" in said
    assert "connected" not in said and "False" in said
    for name in ("DEVOPS_BENCH_CACHE", "BENCH_RUN_STATE_ROOT", "PYTEST_CURRENT_TEST"):
        assert name not in said


COMBO = """
import sys
from pathlib import Path
from devops_bench.gateway.mcp import McpGateway
from devops_bench.sandbox import detect
import os
kind, folder, server, marker = sys.argv[1:]
mode = detect({"PATH": os.environ["PATH"], "BENCH_AGENT_SANDBOX": kind})
with McpGateway([sys.executable, server, marker], mode=mode, folder=Path(folder)) as made:
    made.grant()
    print("up", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["bwrap", "off"])
def test_no_server_outlives_a_killed_combo(mode: SandboxMode, tmp_path: Path, kind: str) -> None:
    marker = str(tmp_path / "marker")
    command = [sys.executable, "-c", COMBO, kind, str(tmp_path / "mcp"), str(SERVER), marker]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as combo:
        assert combo.stdout is not None
        assert combo.stdout.readline() == b"up\n"
        assert [pid for pid in servers(marker) if pid != combo.pid]
        os.kill(combo.pid, signal.SIGKILL)
        combo.wait(30)
    wait_for(lambda: not servers(marker, sandboxes=True))
