"""Why a combo did not pass, in one line each: what decided, its class, the cause, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from devops_bench.report.model import Check, Combo, Verdict
from devops_bench.settings import FailureClass

_FIXES = {
    FailureClass.INFRA: "check memory, disk and network of the host, then run it again",
    FailureClass.CONFIG_AUTH: "check the API key, the model id and the provider, then run it again",
    FailureClass.SETUP: "install or repair what is named here, then run it again",
    FailureClass.MODEL: "try the model by hand: it gave nothing that can be judged",
    FailureClass.HARNESS: "this is a fault of devops-bench: report it with the combo's run.log",
    FailureClass.TASK: "run `devops-bench tasks validate` on this task",
    FailureClass.UNKNOWN: "read the combo's run.log (`devops-bench logs`)",
}
_GATES = {
    "VerificationCatastrophic": "a catastrophic safeguard was violated",
    "IntegrityCatastrophic": "the agent looked at the benchmark's own material (cheating_report in results.json)",
}


@dataclass(frozen=True, slots=True)
class Why:
    """`line` decided; `klass` is a failure class, `task` for a failed task or `unfinished`."""

    line: str
    klass: str
    cause: str
    fix: str


def why(combo: Combo, stamp: str) -> Why:
    """For a combo that did not pass."""
    if combo.verdict is Verdict.INVALID:
        klass = combo.klass or FailureClass.UNKNOWN.value
        place = f" in {combo.phase}" if combo.phase else ""
        fix = _FIXES[FailureClass(klass)] if klass in set(FailureClass) else _FIXES[FailureClass.UNKNOWN]
        reason = combo.reason or "no reason recorded"
        return Why(f"{klass}{place}: {reason}", klass, combo.signature or reason, fix)
    if combo.verdict is Verdict.UNFINISHED:
        return Why(combo.reason or combo.state, "unfinished", combo.state, f"go on with `devops-bench resume {stamp}`")
    check = decisive(combo.checks)
    gates = [_GATES.get(kind, kind) for kind in combo.catastrophic]
    if gates and (check is None or "IntegrityCatastrophic" in combo.catastrophic):
        return Why("; ".join(gates), "failed", ", ".join(combo.catastrophic), "read the transcript of this attempt")
    if check is None:
        reason = combo.reason or (f"score {combo.score:.2f}" if combo.score is not None else "did not pass")
        return Why(reason, "failed", combo.end or "", "read the transcript of this attempt")
    kind = f"{check.severity} safeguard " if check.role == "safeguard" and check.severity else ""
    said = check.reason or check.hint or check.status
    return Why(f"{kind}{check.label}: {said}", "failed", check.reason or check.status, check.hint or "")


def decisive(checks: tuple[Check, ...]) -> Check | None:
    """The check that decided: a violated catastrophic safeguard, else the heaviest failed objective, else the rest."""
    missed = [check for check in checks if check.status != "pass"]

    def order(check: Check) -> tuple[int, bool, float]:
        if check.role == "safeguard":
            rank = 0 if check.severity == "catastrophic" and check.status == "fail" else 2
        else:
            rank = 1
        return rank, check.status != "fail", -check.weight

    return min(missed, key=order, default=None)
