"""What an attempt has asked and used, and why it was ended: the one state that the gateway's threads share."""

from __future__ import annotations

import threading

from devops_bench.gateway.model import faults
from devops_bench.gateway.model.caps import Caps, End, Spent
from devops_bench.gateway.model.flight import Flight
from devops_bench.models.exchange import Exchange
from devops_bench.models.wire import Heading

# No attempt makes so many requests; it bounds the memory where no cap is set.
_MOST = 5000
_REMEMBERED = 4


class Ledger:
    """Counts within `caps`, and waits for rate limits within `wait` seconds in all. For any thread."""

    def __init__(self, caps: Caps, wait: float) -> None:
        self.caps = caps
        self._lock = threading.Lock()
        self._wait = wait
        self._spent = Spent()
        self._flights: list[Flight] = []
        self._faults: tuple[str, ...] = ()
        self._end: End | None = None

    def begin(
        self,
        wire: str,
        said: Heading,
        provider: str,
        missing: str | None,
        *,
        names: tuple[str, ...] = (),
        own: bool = True,
    ) -> tuple[Flight, End | None]:
        """Count a request if it may be made; else the end that it means. `missing`: the grant that it lacks. `names`
        are the tools that it offers.
        """
        tools = bool(names)
        with self._lock:
            flight = Flight(len(self._flights) + 1, wire, said, provider, tools=names, own=own)
            end = self._end or (End("grant_missing", 0, missing) if missing is not None else None)
            end = end or self._spent.beyond(self.caps, tools=tools)
            if len(self._flights) < _MOST:
                self._flights.append(flight)
            else:
                end = end or End("cap_requests", 0, f"no run makes more than {_MOST} model requests")
            if end is None:
                self._spent = self._spent.asked(tools=tools)
            self._end = end
        if end is not None:
            flight.finish("cap" if end.kind.startswith("cap_") else "refused", end.error)
        return flight, end

    def refuse(self, wire: str, said: Heading, provider: str, error: str, *, names: tuple[str, ...]) -> None:
        """Note a request that is not the CLI's and goes nowhere; it ends nothing."""
        with self._lock:
            if len(self._flights) < _MOST:
                flight = Flight(len(self._flights) + 1, wire, said, provider, tools=names, own=False)
                flight.finish("refused", error)
                self._flights.append(flight)

    def finished(self, exchange: Exchange) -> End | None:
        """A reply is settled: the end that it means for the run, if any. One that is not the CLI's means none."""
        with self._lock:
            if not exchange.own:
                self._spent = self._spent.answered(exchange)
                return None
            before, self._faults = self._faults, (*self._faults[-_REMEMBERED:], exchange.fault)
            end = faults.end_of(exchange, before)
            self._spent = self._spent.answered(exchange)
            if self._end is None:
                self._end = end
            return end

    def priced(self, cost: float) -> Spent:
        """A reply's cost is known: what was used so far."""
        with self._lock:
            self._spent = self._spent.priced(cost)
            return self._spent

    def may_wait(self, seconds: float) -> bool:
        """Whether so long a wait is left to this attempt; it is taken then."""
        with self._lock:
            if seconds > self._wait:
                return False
            self._wait -= seconds
            return True

    def exchanges(self) -> tuple[Exchange, ...]:
        """All requests so far, in the order of arrival; those on their way as far as they have come."""
        with self._lock:
            flights = tuple(self._flights)
        return tuple(flight.exchange() for flight in flights)

    @property
    def end(self) -> End | None:
        """Why the run was ended: the first reason, None while it was not."""
        with self._lock:
            return self._end

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        with self._lock:
            return self._spent
