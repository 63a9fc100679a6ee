"""The guard: no agent changes, upgrades or deletes a cluster that is not its own.

`judge_command` and `judge_tool` are pure and decide from arguments, never from text that happens to look like a
command. They are asked before a command runs by the shims on an agent's PATH (`shim`, `gate`) and by the MCP gateway,
and afterwards, as the second line, for processes that were seen (`watch`) and for the calls of the transcript
(`scan_call`). Reading is always allowed, whatever it reads; a change is allowed only where the target is known to be
the attempt's own. Nothing is ever reverted.
"""

from __future__ import annotations

from devops_bench.guard.gate import Gate
from devops_bench.guard.judge import GUARDED, judge_command
from devops_bench.guard.tools import judge_tool, scan_call
from devops_bench.guard.types import Finding, GuardContext, Refusal, Rule, Source
from devops_bench.guard.watch import scan_log_line, scan_process_args

__all__ = [
    "GUARDED",
    "Finding",
    "Gate",
    "GuardContext",
    "Refusal",
    "Rule",
    "Source",
    "judge_command",
    "judge_tool",
    "scan_call",
    "scan_log_line",
    "scan_process_args",
]
