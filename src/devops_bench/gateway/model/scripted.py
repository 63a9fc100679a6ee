"""A scripted model behind the gateway: the answers of a scenario, without a second HTTP hop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.gateway.model.upstream import Asked, UpstreamError
from devops_bench.gateway.model.watch import Watch
from devops_bench.models.player import Answer, Ending, Player
from devops_bench.models.routes import scenario_for
from devops_bench.models.scenario import Scenario, load_scenarios


class Scripted:
    """Plays `model` (`scripted:NAME`) from `scenarios` (a folder, a file, or scenarios by name), whatever is asked for.

    Raises ConfigError when a file is wrong or there is no such scenario.
    """

    provider = "scripted"
    model = None

    def __init__(self, scenarios: Path | Mapping[str, Scenario], model: str) -> None:
        found = load_scenarios(scenarios) if isinstance(scenarios, Path) else dict(scenarios)
        scenario = scenario_for(model, None, found)
        if scenario is None:
            there = ", ".join(f"scripted:{name}" for name in sorted(found))
            raise ConfigError(f"there is no scenario for model {model!r}", fix=f"there are: {there}")
        self._pinned = scenario.name
        self._player = Player(found)

    def secrets(self) -> Mapping[str, str]:
        """None."""
        return {}

    def open(self, asked: Asked, watch: Watch) -> Played:
        """The next turn."""
        watch.sent()
        answer, _ = self._player.answer(asked.request, pinned=self._pinned)
        if answer.delay > watch.idle or answer.ending is Ending.HANG:
            watch.sleep(watch.idle)
            raise UpstreamError("hang", f"the model sent nothing for {watch.idle:g} s")
        if answer.delay:
            watch.sleep(answer.delay)
        return Played(answer)

    def close(self) -> None:
        """Nothing is open."""


class Played:
    """A scripted answer as a reply that comes in."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.status = answer.status
        self.fields = (("Content-Type", answer.kind), *answer.headers.items())
        self.length = None if answer.stream else len(answer.body)

    def chunks(self) -> Iterator[bytes]:
        """The answer's chunks, or half of them."""
        answer = self._answer
        if answer.ending is Ending.CUT and not answer.stream:
            yield answer.body[: len(answer.body) // 2]
        else:
            yield from answer.chunks
        if answer.ending is Ending.CUT:
            raise UpstreamError("cut", "the connection ended in the middle of the reply")

    def close(self) -> None:
        """Nothing is open."""
