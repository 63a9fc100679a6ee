"""Each installed agent CLI from start to end: one reply, one command, and how soon it notices that its model failed.

Real CLI, real sandbox, scripted model: nothing here depends on a provider. AGENTS=claude,codex picks some.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import row
from devops_bench import agents
from devops_bench.agents.base import AgentTask, Grants, Limits, ModelEndpoint
from devops_bench.agents.frame.run import CliAgent
from devops_bench.gateway.model import ModelGateway, Patience, Scripted
from devops_bench.models.scenario import Scenario, scenario
from devops_bench.sandbox import Endpoint, Sandbox, SandboxMode, SandboxSpec, detect

REPLY = {"one reply": {"turns": ["Done."]}, "one command": {"turns": [{"shell": "true"}, "Done."]}}
FAULTS = {name: {"turns": [{"fault": name}]} for name in (429, 500, 401, "garbage", "cut", "empty")}
TARGET = "<= 5 s from the failure to the end"


def main() -> None:
    """Print seconds, one run of each: a CLI varies less than a busy machine."""
    mode = detect({"PATH": os.environ.get("PATH", "")})
    if not mode.sandboxed:
        print(mode.warning)
        return
    wanted = os.environ.get("AGENTS", "").split(",") if os.environ.get("AGENTS") else agents.keys()
    for key in wanted:
        agent = agents.get(key)
        if not isinstance(agent, CliAgent):
            continue
        if missing := agent.missing(os.environ):
            print(missing)
            continue
        for name, data in REPLY.items():
            whole, _notice, end, taken = play(agent, mode, scenario("s", data))
            cost = f"{taken['cpu_sec'] or 0:.1f} CPU-s, peak {(taken['rss_peak'] or 0) >> 20} MB"
            row(f"{key}: {name}", f"{whole:.2f} s, {cost}", end, "")
        for fault, data in FAULTS.items():
            whole, notice, end, _taken = play(agent, mode, scenario("s", data))
            row(f"{key}: fault {fault}", f"{notice:.2f} s", f"{end}, whole run {whole:.2f} s", TARGET)


def play(agent: CliAgent, mode: SandboxMode, one: Scenario) -> tuple[float, float, str, dict[str, Any]]:
    """Seconds of the whole run and from the first failed request to its end; the end; what the sandbox took."""
    model, wire = "scripted:s", agent.wires[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        ModelGateway(Scripted({"s": one}, model), wire=wire, model=model, patience=Patience(idle=30)) as gateway,
    ):
        home, workspace = Path(folder, "home"), Path(folder, "workspace")
        spec = SandboxSpec(home, workspace, reach=(Endpoint(*gateway.address),), binds=agent.binds(os.environ))
        with Sandbox(mode, spec) as box:
            endpoint = ModelEndpoint(wire, model, gateway.base_url(), gateway.token)
            limits = Limits(120, 10, 16 << 20)
            task = AgentTask("Say done.", workspace, home, box, endpoint, Grants(), limits, {},
                             exchanges=gateway.exchanges)  # fmt: skip
            run = agent.run(task)
            ended = time.time()
            taken = box.taken()
        failed = next((seen.time + seen.latency for seen in gateway.exchanges() if seen.fault), ended)
    return run.latency, max(0.0, ended - failed), f"{run.end} ({run.raw_end})", taken


if __name__ == "__main__":
    main()
