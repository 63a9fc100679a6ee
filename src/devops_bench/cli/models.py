"""`devops-bench models`: serve scripted models to any client, check scenario files."""

from __future__ import annotations

from pathlib import Path

import click

from devops_bench.plaintext import counted


@click.group()
def command() -> None:
    """Scripted models: real HTTP in the providers' formats, answers from scenario files, no tokens."""


@command.command()
@click.option(
    "--scenarios",
    required=True,
    type=click.Path(path_type=Path),
    help="Scenario files: a folder of NAME.yaml, or one.",
)
@click.option("--port", default=0, show_default="chosen by the kernel", type=click.IntRange(0, 65535), help="Port.")
@click.option("--token", envvar="BENCH_MODELS_TOKEN", help="Refuse requests without this key.  [BENCH_MODELS_TOKEN]")
def serve(scenarios: Path, port: int, token: str | None) -> None:
    """Serve scripted models on 127.0.0.1 until interrupted."""
    import signal
    import threading

    from devops_bench.models.server import ScriptedServer

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with ScriptedServer(scenarios, port=port, token=token) as server:
        click.echo(f"serving {counted(len(server.scenarios), 'scenario')} on {server.url}")
        for name in sorted(server.scenarios):
            click.echo(f"  scripted:{name}")
        click.echo(f"Gemini {server.url}  Anthropic {server.url}  OpenAI {server.url}/v1")
        stop.wait()


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def check(files: tuple[Path, ...]) -> int:
    """Check scenario files (or folders of them); one line for each that is wrong."""
    from devops_bench.errors import ConfigError, ExitCode
    from devops_bench.models.scenario import SUFFIXES, load_scenario

    wrong = 0
    for given in files:
        found = sorted(path for path in given.iterdir() if path.suffix in SUFFIXES) if given.is_dir() else [given]
        if not found:
            raise ConfigError("holds no scenario files", where=given, fix="add NAME.yaml for the model scripted:NAME")
        for path in found:
            try:
                one = load_scenario(path)
            except ConfigError as error:
                wrong += 1
                click.echo(f"error: {error.message()}", err=True)
                continue
            turns = sum(len(section.turns) for section in one.sections)
            click.echo(
                f"{path}: scripted:{one.name}, {counted(len(one.sections), 'section')}, {counted(turns, 'turn')}"
            )
    return int(ExitCode.USAGE if wrong else ExitCode.OK)
