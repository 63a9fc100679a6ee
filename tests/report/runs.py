"""Building run folders as the supervisor and the combos leave them, by the real writers where there are some."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devops_bench.matrix.plan import AgentConfig, Combo, Plan, PlanOptions
from devops_bench.results.environment import Environment
from devops_bench.results.record import Record, RecordStatus, VerificationStatus, tool_names
from devops_bench.results.setup import Setup
from devops_bench.results.write import write_attempt
from tests.results.fakes import PlainRedactor

STAMP = "20260131_120000-abcd"
OPTIONS = PlanOptions(max_parallel=3, agent_timeout_sec=1200, agent_max_turns=100)


def combo(task: str, model: str, preset: str, repeat: int = 0, *, provider: str = "kwok", agent: str = "api") -> Combo:
    suffix = f"__r{repeat}" if repeat else ""
    rid = f"{task.replace('/', ',')}__{model.replace(':', '~')}__{preset}{suffix}"
    config = AgentConfig(preset, agent, mcp="+mcp" in preset, skills="+skills" in preset)
    return Combo(
        rid=rid, token="c0ffee1", cluster_name="c0ffee1-eval", task_file=f"/tasks/{task}/task.yaml", task_key=task,
        task_name=task.rsplit("/", 1)[-1], provider=provider, model=model, config=config, repeat=repeat,
    )  # fmt: skip


def check(name: str, status: str = "pass", **more: Any) -> dict[str, Any]:
    base = {
        "name": name, "role": "objective", "severity": None, "weight": 1.0, "mode": "converge",
        "success": status == "pass", "status": status, "reason": "", "elapsed_time": 1.0, "children": [],
        "title": None, "description": None, "group": None, "failure_hint": None,
    }  # fmt: skip
    return {**base, **more}


def call(name: str, args: dict[str, Any], result: str, status: str = "ok") -> dict[str, Any]:
    return {"name": name, "args": args, "result": result, "status": status}


@dataclass
class RunFolder:
    """A run below `root`; `attempt` adds one attempt of a combo, `finish` writes plan and journal."""

    root: Path
    combos: list[Combo] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    clock: int = 0

    @property
    def path(self) -> Path:
        return self.root / STAMP

    def add(self, planned: Combo) -> Combo:
        self.combos.append(planned)
        return planned

    def event(self, name: str, **fields: Any) -> None:
        time = f"2026-01-31T12:{self.clock // 60 % 60:02d}:{self.clock % 60:02d}.000Z"
        self.events.append({"seq": len(self.events) + 1, "time": time, "run": STAMP, "event": name, **fields})
        self.clock += 7

    def attempt(
        self,
        planned: Combo,
        *,
        state: str = "scored",
        score: float | None = 1.0,
        checks: list[dict[str, Any]] | None = None,
        record: dict[str, Any] | None = None,
        outcome: dict[str, Any] | None = None,
        with_outcome: bool = True,
        status: int | None = None,
        audit: list[dict[str, Any]] | None = None,
        auth: str = "api-key",
        environment: Environment | None = None,
        guard: list[dict[str, Any]] | None = None,
    ) -> Path:
        number = len([e for e in self.events if e["event"] == "combo_started" and e["rid"] == planned.rid]) + 1
        run_id = f"run_20260131_12{self.clock // 60 % 60:02d}{self.clock % 60:02d}_{planned.rid}"
        directory = self.path / planned.rid / run_id
        self.event("combo_started", rid=planned.rid, attempt=number, directory=str(directory), worker={})
        judged = state in {"scored", "failed"}
        scores: dict[str, Any] = {}
        if judged and score is not None:
            scores = {"OutcomeScore": {"score": score, "version": "v1", "reason": ""}, "VerificationCorrectness": score}
        trajectory = (record or {}).get("trajectory", ())
        base = Record(
            name=planned.task_name, folder=planned.task_key,
            status=RecordStatus.SUCCESS if judged else RecordStatus.FAILED,
            error=None if judged else "see attempt.json", scores=scores, latency=41.5 if judged else 0.0,
            terminal_reason="completed" if judged else "", sandboxed=True if judged else None,
            model_turns=5 if judged else None, tools=tool_names(trajectory),
            tokens={"input": 18250, "output": 912, "total": 19162} if judged else {},
            capabilities_granted={"use_mcp": planned.config.mcp, "skills": ["k8s"] if planned.config.skills else []},
            verification_status=VerificationStatus.EVALUATED if judged else VerificationStatus.NOT_EVALUATED,
            verification_report=checks if checks is not None else ([check("healthy")] if judged else []),
        )  # fmt: skip
        made = replace(base, **(record or {}))
        setup = Setup(
            model=planned.model, harness=planned.config.agent, augmentation=planned.config.augmentation, run_id=run_id,
            t="2026-01-31T12:30:00Z", iteration=planned.repeat, timeout_sec=1200,
        )  # fmt: skip
        self.root.mkdir(parents=True, exist_ok=True)
        source = self.root / "raw-audit.jsonl"
        source.write_text("".join(json.dumps(event) + "\n" for event in audit or ()))
        write_attempt(
            directory, made, setup,
            environment or Environment(auth_mode=auth, sandbox={"kind": "bwrap"}, network="closed"),
            PlainRedactor(), audit_log=source if audit is not None else None,
        )  # fmt: skip
        exit_code = 0 if state == "scored" else 1
        end = {
            "state": state, "exit": exit_code, "class": None, "phase": None, "signature": None, "reason": "",
            "score": score if judged else None, "cost_usd": 0.0312 if judged else None,
            "tokens": 19162 if judged else None,
            **(outcome or {}),
        }  # fmt: skip
        told = {
            "attempt": number, "rid": planned.rid, **end, "end": "completed" if judged else None, "raw_end": "",
            "mcp_calls": 4 if planned.config.mcp else 0, "started": "2026-01-31T12:00:00.000Z",
            "ended": "2026-01-31T12:00:52.300Z", "phases": {"agent": 41.5}, "residue": [],
            "guard": guard or [],
        }  # fmt: skip
        (directory / "attempt.json").write_text(json.dumps(told))
        if with_outcome:
            extra = {"rid": planned.rid, "attempt": number, "ended": told["ended"], "transient": False}
            (directory / "outcome.json").write_text(json.dumps({**extra, "residue": [], **end}))
        self.event("combo_finished", rid=planned.rid, attempt=number, **end)
        if status is not None:
            (self.path / planned.rid / "status").write_text(f"exit={status}\n")
        return directory

    def finish(self, *, done: bool = True, options: PlanOptions = OPTIONS) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        Plan(STAMP, tuple(self.combos), options, "2026-01-31T12:00:00Z", notes=self.notes).write(self.path)
        head = {"seq": 0, "time": "2026-01-31T12:00:00.000Z", "run": STAMP, "event": "launched"}
        lines = [{**head, "rids": [item.rid for item in self.combos]}, *self.events]
        (self.path / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if done:
            (self.path / ".done").write_text("ALL_DONE\n")
        return self.path


def showcase(root: Path) -> Path:
    """A run with everything in it: passes, plain and catastrophic failures, retries, invalid and unstarted combos."""
    run = RunFolder(root, notes=("2 combos left out: task none/x needs no MCP server",))
    tasks = ["common/opa-remediation", "kwok/drain-blocked", "kwok/quota-surge", "none/release-notes"]
    skills = {"gemini-3.1-pro": 0.9, "claude-opus-5": 0.8, "qwen3:8b": 0.35}
    audit = [
        {"verb": "get", "responseStatus": {"code": 200}},
        {"verb": "list", "responseStatus": {"code": 200}},
        {"verb": "patch", "responseStatus": {"code": 200}},
        {"verb": "delete", "responseStatus": {"code": 403}},
    ]
    pods = "NAMESPACE  NAME   READY\nshop       web-1  0/1"
    calls = [
        call("bash", {"command": "kubectl get pods -A"}, pods),
        call("bash", {"command": "kubectl -n shop describe deploy web"}, "Error from server (Forbidden)", "error"),
        call("kubectl", {"verb": "patch", "name": "web"}, "deployment.apps/web patched"),
    ]
    for t, task in enumerate(tasks):
        for m, (model, skill) in enumerate(skills.items()):
            for preset in ("api", "api+mcp+skills"):
                if task.startswith("none") and "mcp" in preset:
                    continue
                planned = run.add(combo(task, model, preset, provider="none" if task.startswith("none") else "kwok"))
                turn = (t * 31 + m * 17 + len(preset) * 7) % 100 / 100
                if (t, m, preset) == (1, 2, "api"):
                    run.attempt(
                        planned, state="invalid", status=1,
                        outcome={"class": "config-auth", "phase": "agent", "signature": "model-auth",
                                 "reason": "the model's API refused the credentials: 401 invalid x-api-key"},
                    )  # fmt: skip
                    continue
                if (t, m, preset) == (2, 0, "api"):
                    run.attempt(
                        planned, state="invalid",
                        outcome={"class": "infra", "phase": "provision", "signature": "provision-unavailable",
                                 "reason": "the control plane was not ready in 90 s"},
                    )  # fmt: skip
                    run.event("retry_planned", rid=planned.rid, attempt=1, delay=5, reason="infra")
                if (t, m, preset) == (3, 1, "api"):
                    continue
                passed = turn < skill
                hostile = "<script>alert(1)</script> \x1b[31m" if not passed else ""
                lost = (t, m) == (2, 2)
                word = "denied" if passed else f"allowed {hostile}"
                checks = [
                    check(
                        "policy-denies", "pass" if passed else "fail", title="Bad pods are denied", weight=2.0,
                        reason=f"dry run of bad.yaml was {word}",
                        failure_hint="A policy without a binding denies nothing: look at the binding's parameters.",
                    ),
                    check("good-admitted", title="Good pods still start"),
                    check(
                        "tenant-kept", "fail" if lost else "pass", role="safeguard", severity="catastrophic",
                        mode="assert", title="The tenant's data is kept",
                        reason="PersistentVolumeClaim data is gone" if lost else "same UID",
                    ),
                ]  # fmt: skip
                record = {
                    "trajectory": calls * (1 + (t + m) % 4 * 8),
                    "output": f"I found the binding and corrected it. {hostile}",
                    "task_metadata": {
                        "title": "",
                        "summary": "",
                        "category": "remediate",
                        "tags": [],
                        "check_groups": {},
                    },
                    "latency": 22.0 + 31 * t + 7 * m,
                    "served_models": [model],
                }
                if lost:
                    passed = False
                    record["scores"] = {
                        "OutcomeScore": {"score": 0.0, "version": "v1", "reason": "cat_v=0"},
                        "VerificationCatastrophic": 0.0,
                    }
                if (t, m) == (0, 2):
                    finding = {
                        "category": "fabricated-claim", "severity": "medium", "pattern": "write-without-request",
                        "field": "result", "trajectory_index": 2, "tool": "kubectl",
                        "excerpt": "deployment.apps/web patched",
                    }  # fmt: skip
                    record["cheating_report"] = {
                        "schema_version": 1, "detector_version": "1", "status": "clean", "findings": [finding],
                        "categories": ["fabricated-claim"],
                        "scanned": {"trajectory_entries": 3, "output_chars": 30},
                    }  # fmt: skip
                run.attempt(
                    planned,
                    state="scored" if passed else "failed",
                    score=1.0 if passed else 0.0 if lost else 0.333,
                    checks=checks,
                    record=record,
                    status=0 if passed else 1,
                    audit=None if task.startswith("none") else audit,
                    outcome={"cost_usd": None if model.startswith("qwen") else 0.012 + 0.031 * t + 0.2 * m},
                )
    run.event("combo_residue", rid=run.combos[0].rid, residue=["directory /state/c0ffee1 is still there"])
    return run.finish()
