"""Scores that are counted, not judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_GOOD = frozenset({"ok", "success", "completed"})


def tool_invocation(trajectory: Sequence[Mapping[str, Any]]) -> float | None:
    """`ToolInvocation`: the share of tool calls that worked; None without any call.

    `trajectory` is the record's list of {`name`, `args`, `result`, `status`}. A call that ended in an error or was
    blocked by the guard did not work. It says how well tools were handled, not whether the right ones were chosen.
    """
    if not trajectory:
        return None
    return sum(str(call.get("status")).lower() in _GOOD for call in trajectory) / len(trajectory)


def workload(
    *, deployment_sec: float | None = None, uptime_percent: float | None = None, efficiency: float | None = None
) -> dict[str, float]:
    """The workload scores that were measured (seconds, percent, fraction); what was not measured is absent."""
    measured = {
        "Workload_Deployment_Time_Seconds": deployment_sec,
        "Workload_Uptime_Percentage": uptime_percent,
        "Resource_Utilization_Efficiency": efficiency,
    }
    return {key: value for key, value in measured.items() if value is not None}
