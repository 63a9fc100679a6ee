"""The scheduling core: what may start now, what is tried again, when launching stops. Pure; time is an argument.

`Scheduler` is driven by the supervisor's event loop with a real clock and by tests with an invented one.
"""

from devops_bench.supervisor.schedule.jobs import Job
from devops_bench.supervisor.schedule.retry import Fault, Retry, decide
from devops_bench.supervisor.schedule.rules import Budget, Rules
from devops_bench.supervisor.schedule.scheduler import End, Halt, HaltKind, Scheduler

__all__ = ["Budget", "End", "Fault", "Halt", "HaltKind", "Job", "Retry", "Rules", "Scheduler", "decide"]
