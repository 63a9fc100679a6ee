"""Did the agent look at the benchmark itself, or report work that it did not do? A tripwire behind the sandbox.

`scan` reads an attempt's transcript and the API server's audit log and returns the `cheating_report` of a record. Rules
are data (`rules`); what the task's own prompt names is allowed. Only a breach (severity high) sets the score to 0.
"""

from devops_bench.integrity.findings import Category, Finding, Severity
from devops_bench.integrity.scan import OwnNames, catastrophic_score, scan

__all__ = ["Category", "Finding", "OwnNames", "Severity", "catastrophic_score", "scan"]
