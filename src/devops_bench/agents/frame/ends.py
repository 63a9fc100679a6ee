"""How a run of a CLI ended: one pure function of what the CLI says, what the gateway saw, and how the process ended.

The CLI's own structured words come first, but a success is believed only as far as the gateway's exchanges bear it
out: several CLIs report one after an API failure, a refusal or an empty reply. An exit code alone is never a success.
Nor is a failure of the model's API believed that only the CLI tells of: an agent can write into its CLI's output, and
one that could void its own run would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from devops_bench.agents.base import EndReason
from devops_bench.agents.frame.own_doing import killed_itself
from devops_bench.agents.frame.types import Reading
from devops_bench.models.exchange import Exchange
from devops_bench.models.wire import Finish

_CAPS = {
    f"cap_{what}": re.compile(rf"cap_{what}|limit of \S+ {unit}\b", re.I)
    for what, unit in (("requests", "model requests"), ("tokens", "tokens"), ("cost", "usd"))
}
GRANT_MISSING = "grant_missing"
CAP_OUTPUT = "cap_output"
UNCONFIRMED = "unconfirmed"
# What a fault is called in a run's `raw_end`; `http` carries its status, `cap` what was capped.
_FAULT_WORDS = {
    "hang": "no_reply",
    "garbage": "bad_reply",
    "cut": "bad_reply",
    "connection": "connection",
    "credentials": "credentials",
    "harness": "harness",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beside the CLI's words.

    `exchanges` None: no gateway stands behind this run. `flooded`: it was ended because it printed more than
    `output_bytes`. `broken_grant`: the CLI's own word that a granted MCP server is not there. `limit`: the sandbox's
    limit that ended it (memory, disk ...); `struck`: those that refused it something. `steps`: how many the trajectory
    has. `stderr_tail`: the last line that it printed there.
    """

    exit: int
    timed_out: bool = False
    flooded: bool = False
    limit: str = ""
    struck: tuple[str, ...] = ()
    broken_grant: str = ""
    timeout_sec: float = 0.0
    output_bytes: int = 0
    steps: int = 0
    exchanges: Sequence[Exchange] | None = None
    stderr_tail: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """The settled end. `error` empty: nothing to add to what the CLI reported."""

    reason: EndReason
    raw: str
    error: str = ""


def settle(reading: Reading, facts: Facts) -> End:
    """The end of the run."""
    last = _last_reply(facts)
    fault = terminal_fault(facts.exchanges or ())
    if fault is not None and fault.fault in {"cap", "refused"}:
        return _ended_by_gateway(fault)
    if facts.broken_grant:
        return End(EndReason.CRASHED, GRANT_MISSING, facts.broken_grant)
    if facts.timed_out and (fault is None or fault.fault in {"hang", "cut"}):
        return End(EndReason.TIMEOUT, "timeout", f"the time limit of {facts.timeout_sec:g} s was reached")
    if facts.flooded or facts.limit:
        return _out_of_bounds(facts)
    if fault is not None and not _finished_before(reading, facts.exchanges or ()):
        return _faulty(fault)
    if last is not None and last.finish is Finish.REFUSAL and reading.end in _ANSWERED:
        return End(EndReason.REFUSED, "content_filter", "the model refused, or its reply was withheld")
    if reading.end is EndReason.COMPLETED:
        return _completed(reading, facts)
    if reading.end in _BROKEN and (own := _own_doing(facts)) is not None:
        return own
    if reading.end is EndReason.API_ERROR and (word := last_word(facts.exchanges or ())) is not None:
        # It asks again after a reply that was cut, and gives up; or it cannot tidy up after what the agent started.
        assert word.finish is not None
        return End(EndReason.COMPLETED, word.finish.value, "the CLI reports a failure after the model's last word")
    if reading.end is None:
        return _without_word(facts)
    if reading.end is EndReason.API_ERROR and facts.exchanges and reading.raw_end not in _FAULT_WORDS.values():
        return _unconfirmed(facts.exchanges)
    return End(reading.end, reading.raw_end or reading.end.value)


# Ends in which the CLI did not finish its work.
_BROKEN = (None, EndReason.API_ERROR, EndReason.CRASHED)
# Ends that a CLI reports for a refusal, beside REFUSED itself.
_ANSWERED = (None, EndReason.COMPLETED, EndReason.API_ERROR, EndReason.EMPTY, EndReason.CRASHED)


def _out_of_bounds(facts: Facts) -> End:
    """More than any honest run takes: a limit that was reached, if the model had its say; else the CLI is broken."""
    spoke = bool(facts.exchanges) or facts.steps > 0
    reason = EndReason.MAX_TURNS if spoke else EndReason.CRASHED
    if facts.flooded:
        return End(reason, CAP_OUTPUT, f"it printed more than {facts.output_bytes} bytes and was ended")
    return End(reason, f"cap_{facts.limit}", f"it reached the sandbox's limit on {facts.limit} and was ended")


def _own_doing(facts: Facts) -> End | None:
    """The end of a run that the agent itself broke: by a limit that it ran into, or by ending processes."""
    if facts.struck and facts.exchanges:
        limit = facts.struck[0]
        return End(EndReason.MAX_TURNS, f"cap_{limit}", f"it broke at the sandbox's limit on {limit}")
    call = killed_itself(turns_of(facts.exchanges or ()))
    if call is None:
        return None
    return End(EndReason.SELF_ENDED, _died(facts), f"it ended while its own call of {call.name} ended processes")


def _unconfirmed(exchanges: Sequence[Exchange]) -> End:
    """The CLI speaks of a failed request, but every turn that the gateway saw went well or was not waited for."""
    last = turns_of(exchanges)[-1]
    if last.fault == "gone" or under_way(last):
        return End(EndReason.API_ERROR, "no_reply", "the CLI did not wait for the model's reply")
    return End(EndReason.API_ERROR, UNCONFIRMED, "the CLI reports a failed model request that nobody else saw")


def turns_of(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """The requests that offered tools: the model's turns. Others (titles, summaries) do not decide a run, nor do those
    that the agent may have made by hand.
    """
    own = [one for one in exchanges if one.own]
    return [one for one in own if one.tools] or own


def last_word(exchanges: Sequence[Exchange]) -> Exchange | None:
    """The reply with which the model ended its turn, whether or not its CLI kept it; None while it wants more."""
    last = turns_of(exchanges)[-1:]
    if not last or last[0].fault or last[0].calls or not last[0].text.strip():
        return None
    return last[0] if last[0].finish in {Finish.STOP, Finish.MAX_TOKENS} else None


def under_way(one: Exchange) -> bool:
    """Its reply has not come to an end yet."""
    return not one.fault and one.finish is None


def terminal_fault(exchanges: Sequence[Exchange]) -> Exchange | None:
    """The fault after which no turn went well: the first one since the last good reply, for what follows it may only
    be the gateway turning down retries. None when there is none; a client that hung up is no fault of the model's.
    """
    found = None
    for one in reversed(turns_of(exchanges)):
        if one.fault and one.fault != "gone":
            found = one
        elif not one.fault and (one.finish is not None or one.text or one.calls):
            break
    return found


def _last_reply(facts: Facts) -> Exchange | None:
    turns = turns_of(facts.exchanges or ())
    return turns[-1] if turns else None


def _ended_by_gateway(fault: Exchange) -> End:
    if fault.fault == "refused":
        return End(EndReason.CRASHED, GRANT_MISSING, fault.error or "the model request lacks a granted tool or skill")
    what = next((word for word, sign in _CAPS.items() if sign.search(fault.error)), "cap")
    return End(EndReason.MAX_TURNS, what, fault.error or "a cap of this attempt was reached")


def _faulty(fault: Exchange) -> End:
    if fault.fault == "empty":
        return End(EndReason.EMPTY, "empty", "the model's reply was empty")
    wait = f", retry after {fault.retry_after:g} s" if fault.retry_after is not None else ""
    if fault.fault == "http":
        return End(
            EndReason.API_ERROR, f"http_{fault.status}", f"HTTP {fault.status}{wait}: {fault.error}".rstrip(": ")
        )
    word = _FAULT_WORDS.get(fault.fault, "error")
    return End(EndReason.API_ERROR, word, f"{fault.error or f'the model gave no usable reply ({fault.fault})'}{wait}")


def _finished_before(reading: Reading, exchanges: Sequence[Exchange]) -> bool:
    """A CLI may ask again after its last word (for a title, a summary). That request's failure is not the run's."""
    if reading.end is not EndReason.COMPLETED or not reading.output.strip():
        return False
    said = reading.output.strip()
    return any(
        not one.fault and one.finish is Finish.STOP and not one.calls and one.text.strip() == said for one in exchanges
    )


def _completed(reading: Reading, facts: Facts) -> End:
    exchanges = facts.exchanges
    if exchanges is not None and not exchanges:
        return End(EndReason.CRASHED, "no_request", "it reports a success, but never asked the model anything")
    if facts.steps == 0 or not reading.output.strip():
        return End(EndReason.EMPTY, "empty", "the model's last reply was empty")
    last = _last_reply(facts)
    finish = last.finish if last is not None else None
    raw = Finish.MAX_TOKENS.value if finish is Finish.MAX_TOKENS else reading.raw_end or "stop"
    return End(EndReason.COMPLETED, raw)


def _without_word(facts: Facts) -> End:
    """It left no result: whatever its exit code, nothing says that it finished."""
    died = _died(facts)
    said = f": {facts.stderr_tail}" if facts.stderr_tail else ""
    return End(EndReason.CRASHED, died, f"it ended ({died.replace('_', ' ')}) without reporting a result{said}")


def _died(facts: Facts) -> str:
    return f"signal_{facts.exit - 128}" if facts.exit > 128 else f"exit_{facts.exit}"
