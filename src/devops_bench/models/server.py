"""The scripted model server: real HTTP on loopback, the wire formats of the providers, answers from scenario files.

Runs in threads of the process that opens it and has no global state. Any key is accepted unless a `token` is required.

```python
with ScriptedServer(Path("scenarios")) as server:
    base_url = server.endpoint("anthropic", "scripted:careful")
```
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from devops_bench.errors import ConfigError
from devops_bench.models import routes
from devops_bench.models.http import Connection, Request, keys_in
from devops_bench.models.listener import Listener
from devops_bench.models.player import Answer, Ending, Player
from devops_bench.models.record import Log, Recorded
from devops_bench.models.scenario import Scenario, load_scenarios

# By provider: two of them are no wire format's name.
_BASES = {**routes.BASES, "vertex": "", "scripted": ""}
HANG_LIMIT = 3600.0


class ScriptedServer:
    """Serves `scenarios` (a folder, a file, or scenarios by name) from construction until `close`."""

    def __init__(self, scenarios: Path | Mapping[str, Scenario], *, port: int = 0, token: str | None = None) -> None:
        """`port` 0 lets the kernel choose. With `token` a request without that key gets 401. Raises ConfigError."""
        self.scenarios = load_scenarios(scenarios) if isinstance(scenarios, Path) else dict(scenarios)
        self._player = Player(self.scenarios)
        self._token = token
        self._log = Log()
        try:
            self._listener = Listener(self._handle, port)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on 127.0.0.1:{port} ({error.strerror})", fix="choose another port"
            ) from None
        self.port = self._listener.port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """The requests so far that are answered or being answered, oldest first, within the bounds of `record`."""
        return self._log.all()

    def endpoint(self, provider: str, model: str) -> str:
        """The base URL to give to a client of `provider` so that `model` is played, whatever it makes of the model id.

        Raises ConfigError when there is no such scenario.
        """
        scenario = routes.scenario_for(model, None, self.scenarios)
        if scenario is None:
            raise ConfigError(f"there is no scenario for model {model!r}", fix=f"there are: {self._names()}")
        return f"{self.url}{routes.PINNED}{scenario.name}{_BASES.get(provider, '/v1')}"

    def close(self) -> None:
        """End all connections and free the port."""
        self._listener.close()

    def _names(self) -> str:
        return ", ".join(f"scripted:{name}" for name in sorted(self.scenarios))

    def _handle(self, connection: Connection, request: Request) -> None:
        answer, record = self._player.answer(request, allowed=self._token is None or self._token in keys_in(request))
        if answer.delay:
            self._listener.closing.wait(answer.delay)
        # Kept before the first byte is sent: who has an answer finds its request in the record.
        self._log.add(record)
        _send(connection, answer)


def _send(connection: Connection, answer: Answer) -> None:
    if answer.ending is Ending.HANG:
        connection.wait_gone(HANG_LIMIT)
    elif answer.stream:
        connection.begin(answer.kind)
        for chunk in answer.chunks:
            connection.chunk(chunk)
        if answer.ending is Ending.WHOLE:
            connection.end()
    elif answer.ending is Ending.CUT:
        connection.send_half(answer.body, answer.kind)
    else:
        connection.send(answer.status, answer.body, answer.kind, answer.headers)
    if answer.ending is not Ending.WHOLE:
        connection.keep = False
