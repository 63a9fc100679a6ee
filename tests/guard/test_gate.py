"""The shims and the gate together, in a real sandbox: what an agent's shell meets."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devops_bench.guard import Finding, Gate, Rule, Source
from devops_bench.sandbox import Bind, Endpoint, Limit, Sandbox, SandboxMode
from tests.boxes import any_box, bare_mode, box, make_box, mode
from tests.guard.commands import OWN
from tests.guard.test_commands import CONFIG

__all__ = ["any_box", "bare_mode", "box", "make_box", "mode"]

MakeBox = Callable[..., Sandbox]
TOOL = '#!/bin/bash\necho "ran ${0##*/} $*"\n'


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate(OWN) as made:
        yield made


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    path = tmp_path / "tool"
    path.write_text(TOOL)
    path.chmod(0o755)
    return path


@pytest.fixture(params=["sandboxed", "bare"])
def guarded(request: pytest.FixtureRequest, make_box: MakeBox, gate: Gate, tool: Path, tmp_path: Path) -> Sandbox:
    which = request.getfixturevalue("mode" if request.param == "sandboxed" else "bare_mode")
    config = tmp_path / "agent.kubeconfig"
    config.write_text(CONFIG.format(current="agent"))
    extra = (Bind(tool, "/opt/tools/libexec/gcloud"), Bind(tool, "/opt/tools/libexec/kind"))
    return make_box(
        which,
        kubectl=(str(tool),),
        kubeconfig=config,
        guard=Endpoint(*gate.address),
        binds=extra if request.param == "sandboxed" else (),
    )


def bash(box: Sandbox, text: str) -> tuple[int, str]:
    done = box.run(["/bin/bash", "-c", text], timeout=30)
    return done.exit, done.text()


@pytest.mark.sandbox
def test_what_is_allowed_runs_unchanged(guarded: Sandbox, gate: Gate) -> None:
    assert bash(guarded, "kubectl get pods -o 'a b'") == (0, "ran kubectl get pods -o a b\n")
    assert bash(guarded, "kubectl apply -f - ''") == (0, "ran kubectl apply -f - \n")
    assert bash(guarded, "echo in | kubectl delete pod x; exit 7") == (7, "ran kubectl delete pod x\n")
    assert gate.findings == ()


@pytest.mark.sandbox
def test_what_is_foreign_is_refused_with_a_reason_and_noted(guarded: Sandbox, gate: Gate) -> None:
    code, said = bash(guarded, "kubectl --context other delete pod x")
    assert code == 126
    assert said.startswith("kubectl: refused: https://10.0.0.1:6443 is not this task's API server.")
    (finding,) = gate.findings
    assert (finding.refusal.rule, finding.source, finding.blocked) == (Rule.FOREIGN_TARGET, Source.SHIM, True)
    assert finding.as_dict()["command"] == "kubectl --context other delete pod x"


@pytest.mark.sandbox
def test_the_kubeconfig_that_would_be_read_decides(guarded: Sandbox, gate: Gate) -> None:
    kube = str(guarded.home / ".kube/config")
    assert bash(guarded, f"cp {kube} $TMPDIR/copy; kubectl --kubeconfig $TMPDIR/copy delete pod x")[0] == 0
    switch = f"sed -i 's/current-context: agent/current-context: other/' {kube}"
    assert bash(guarded, f"{switch}; kubectl delete pod x")[0] == 126
    assert bash(guarded, "kubectl --context alias delete pod x")[0] == 0
    elsewhere = "mkdir -p $TMPDIR/h/.kube; cp ~/.kube/config $TMPDIR/h/.kube; HOME=$TMPDIR/h kubectl delete pod x"
    assert bash(guarded, elsewhere)[0] == 126
    assert bash(guarded, f"KUBECONFIG=$TMPDIR/none:{kube} kubectl delete pod x")[0] == 126
    assert bash(guarded, "mkfifo $TMPDIR/pipe; kubectl --kubeconfig $TMPDIR/pipe delete pod x")[0] == 0, "no waiting"


@pytest.mark.sandbox
def test_odd_arguments_arrive_whole(guarded: Sandbox) -> None:
    assert (
        bash(guarded, "kubectl label pod x $'a=\\n' '*' '' 'é' \"q'\\\"\"")[1]
        == "ran kubectl label pod x a=\n *  é q'\"\n"
    )
    many = " ".join(str(number) for number in range(20_000))
    assert bash(guarded, "kubectl annotate pod x $(seq 0 19999)")[1] == f"ran kubectl annotate pod x {many}\n"


@pytest.mark.sandbox
def test_other_tools_are_guarded_where_they_exist(mode: SandboxMode, make_box: MakeBox, gate: Gate, tool: Path) -> None:
    binds = (Bind(tool, "/opt/tools/libexec/gcloud"), Bind(tool, "/opt/tools/libexec/tofu"))
    box = make_box(mode, guard=Endpoint(*gate.address), binds=binds)
    assert bash(box, "gcloud container clusters delete foreign")[0] == 126
    assert bash(box, "gcloud container clusters list") == (0, "ran gcloud container clusters list\n")
    assert bash(box, "mkdir infra; cd infra; tofu apply") == (0, "ran tofu apply\n")
    assert bash(box, "cd /usr; tofu destroy")[0] == 126
    assert bash(box, "ln -s /usr here; cd here; tofu destroy")[0] == 126, "the real folder counts"
    if shutil.which("az") is None:
        assert bash(box, "az aks delete -n x")[0] == 127, "no tool appears from nowhere"
    assert [finding.refusal.tool for finding in gate.findings] == ["gcloud", "tofu", "tofu"]


@pytest.mark.sandbox
def test_without_its_gate_nothing_that_changes_is_run(mode: SandboxMode, make_box: MakeBox, tool: Path) -> None:
    box = make_box(mode, guard=Endpoint("127.0.0.1", 9), kubectl=(str(tool),))
    code, said = bash(box, "kubectl delete pod x")
    assert (code, said) == (126, "kubectl: this command could not be checked and was not run\n")
    assert bash(box, "kubectl get pods")[0] == 0


@pytest.mark.sandbox
def test_a_tool_run_past_the_shim_ends_the_agent(
    mode: SandboxMode, make_box: MakeBox, gate: Gate, tmp_path: Path
) -> None:
    from devops_bench.guard import scan_process_args

    def inspect(argv: object, env: object) -> bool:
        found = scan_process_args(argv, OWN, env=env)  # type: ignore[arg-type]
        if found is not None:
            gate.note(found, Source.PROCESS)
        return found is not None

    slow = tmp_path / "slow"
    slow.write_text("#!/bin/bash\nsleep 1000\n")
    slow.chmod(0o755)
    box = make_box(mode, kubectl=(str(slow),), inspect=inspect)
    done = box.run(["/bin/bash", "-c", "/opt/tools/libexec/kubectl --context other delete pod x; echo on"], timeout=30)
    assert done.killed_by is Limit.GUARD
    assert not done.timed_out and "on" not in done.text()
    (finding,) = gate.findings
    assert (finding.source, finding.blocked) == (Source.PROCESS, False)


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"\0",
        b"9\0kubectl\0/\0" + b"0\0" * 3,
        b"1\0kubectl\0/\0x\0",
        b"1\0kubectl\0/\0-1\0",
        b"1\0k\0/\x000\x000\x000\0more\0",
    ],
)
def test_what_no_shim_would_send_is_refused(gate: Gate, question: bytes) -> None:
    assert gate.answer(question).startswith(b"no\0")
    assert gate.findings == ()


def test_a_client_that_says_nothing_hinders_nobody(gate: Gate) -> None:
    idle = [socket.create_connection(gate.address) for _ in range(40)]
    with socket.create_connection(gate.address, timeout=30) as client:
        client.sendall(b"1\0kubectl\0/workspace\x003\0delete\0pod\0x\x000\x000\0")
        assert client.recv(10) == b"ok\0"
    for one in idle:
        one.close()


def test_findings_are_told_at_once_and_bounded() -> None:
    heard: list[Finding] = []
    with Gate(OWN, heard.append) as gate:
        for _ in range(1100):
            gate.answer(b"1\0kind\0/\x002\0delete\0cluster\x000\x000\0")
    assert len(heard) == len(gate.findings) == 1000


def test_the_shell_code_is_valid() -> None:
    from devops_bench.guard.shim import ASK, shim

    for shell, text in (("bash", ASK), ("sh", shim("kubectl", "/a b/kubectl", "/x/.ask", "127.0.0.1", 1))):
        done = subprocess.run(
            [shell, "-n"], input=text, text=True, capture_output=True, check=False, env=dict(os.environ)
        )
        assert (done.returncode, done.stderr) == (0, "")
