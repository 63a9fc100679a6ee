"""`devops-bench smoke`: is every agent configuration what its label says, on this host?"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from devops_bench.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from devops_bench.matrix.plan import AgentConfig, PlanOptions
    from devops_bench.smoke import Report, Row

AGENTS = ("oc", "gcli", "cc", "codex", "opencode", "api")
GRANTS = ("", "+mcp", "+skills", "+mcp+skills")


@click.command()
@click.argument("configs", nargs=-1)
@click.option("--real", is_flag=True, help="Ask the real model: costs a few thousand tokens for each configuration.")
@click.option("--model", help="The real model's id.  [AGENT_MODEL, else the only one of MATRIX_MODELS]")
@click.option("--timeout-sec", default=120.0, show_default=True, help="Seconds of each agent's run.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(configs: tuple[str, ...], real: bool, model: str | None, timeout_sec: float, as_json: bool) -> int:
    """Run one small combo for each of CONFIGS (as gcli+mcp+skills; default: those of MATRIX_AGENT_CONFIGS, else every
    installed agent with and without its grants) and say what each of them really had.

    By default a scripted model plays: no key, no tokens. A configuration is good when its transcript and tools are not
    empty, every grant was used and is seen by others than the agent, nothing was granted that its label does not say,
    and transcript and evidence agree.

    Exit 0: all good; 1: one is not what its label says; 2: usage or configuration; 3: one could not be run.
    """
    from devops_bench import smoke
    from devops_bench.cli.keys import with_secrets
    from devops_bench.smoke import Verdict

    env = with_secrets(os.environ)
    chosen = choose(configs, env)
    options = plan_options(env, chosen)
    asked = real_model(model, env) if real else None
    if model and not real:
        raise ConfigError("--model is for --real", fix="add --real, or leave --model out")
    widths = columns(chosen)
    if not as_json:
        click.echo(head(widths))
    report = smoke.check(
        chosen,
        options,
        env,
        smoke.SmokeOptions(model=asked, timeout_sec=timeout_sec),
        lambda row: None if as_json else click.echo(line(row, widths)),
    )
    click.echo(as_data(report) if as_json else summary(report), nl=as_json)
    return int(
        {Verdict.GOOD: ExitCode.OK, Verdict.BAD: ExitCode.FAILED, Verdict.INVALID: ExitCode.INVALID}[report.verdict]
    )


def choose(given: Sequence[str], env: Mapping[str, str]) -> tuple[AgentConfig, ...]:
    """The configurations; those of agents without a model are left out. Raises ConfigError when none is left."""
    from devops_bench import agents
    from devops_bench.agents.frame.run import unservable
    from devops_bench.agents.registry import plugin_keys
    from devops_bench.matrix.plan import NO_MODEL
    from devops_bench.matrix.presets import Place, parse_configs

    texts = list(given) or env.get("MATRIX_AGENT_CONFIGS", "").split()
    if not texts:
        texts = [f"{agent}{grant}" for agent in (*AGENTS, *plugin_keys()) for grant in GRANTS]
        parsed, _ = parse_configs(texts)
        parsed = tuple(config for config in parsed if runs_here(config, env))
        if not parsed:
            raise ConfigError("no agent is installed", fix="run `devops-bench agents install gemini`, or another")
        return parsed
    parsed, _ = parse_configs(texts, Place("MATRIX_AGENT_CONFIGS" if not given else None))
    asking = []
    for config in parsed:
        agent = agents.get(config.agent)
        if config.agent in NO_MODEL:
            continue
        missing, refused = agent.missing(env), unservable(agent, mcp=config.mcp, skills=config.skills)
        if missing is not None:
            raise ConfigError(missing)
        if refused is not None:
            raise refused
        if agent.wires:
            asking.append(config)
    if not asking:
        raise ConfigError(f"{', '.join(texts)} ask no model", fix="name a configuration of another agent")
    return tuple(asking)


def runs_here(config: AgentConfig, env: Mapping[str, str]) -> bool:
    """Whether it is installed, asks a model, and can be given what its label says."""
    from devops_bench import agents
    from devops_bench.agents.frame.run import unservable
    from devops_bench.errors import BenchError

    try:
        agent = agents.get(config.agent)
        servable = unservable(agent, mcp=config.mcp, skills=config.skills) is None
        return bool(agent.wires) and agent.missing(env) is None and servable
    except BenchError:
        return False  # an agent of another package that cannot be loaded: `agents list` and `doctor` say so


def plan_options(env: Mapping[str, str], configs: Sequence[AgentConfig]) -> PlanOptions:
    """What holds for all combos, from the environment as for a run."""
    from devops_bench.matrix.axes import read_axes

    plain = {name: text for name, text in env.items() if name not in {"RESUME_STAMP", "DRY_RUN"}}
    axes = {"tasks": ("smoke",), "models": ("smoke",), "configs": tuple(config.preset for config in configs)}
    return read_axes(plain, axes).options


def real_model(given: str | None, env: Mapping[str, str]) -> str:
    """The model of `--real`. ConfigError when none is named, or several are."""
    found = given or env.get("AGENT_MODEL", "").strip()
    if found:
        return found
    words = env.get("MATRIX_MODELS", "").split()
    if len(words) != 1:
        raise ConfigError("--real needs one model", fix="name it by --model or AGENT_MODEL")
    return words[0]


HEADS = ("config", "version", "seconds", "calls", "mcp")


def columns(configs: Sequence[AgentConfig]) -> tuple[int, ...]:
    """Widths of the table's columns: a configuration's name is shown whole."""
    return (max(16, *(len(config.preset) + 1 for config in configs)), 12, 8, 6, 5)


def head(widths: Sequence[int]) -> str:
    """The table's heading."""
    return f"{''.join(f'{name:<{width}}' for name, width in zip(HEADS, widths, strict=True))}verdict"


def line(row: Row, widths: Sequence[int]) -> str:
    """One configuration."""
    from devops_bench.plaintext import one_line

    seen = row.seen
    cells: tuple[Any, ...] = (row.config, seen.version or "-", f"{row.seconds:.1f}", seen.calls, seen.mcp_calls)
    text = "".join(f"{str(cell)[: width - 1]:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return f"{text}{row.verdict.value}: {one_line(row.line)}"


def summary(report: Report) -> str:
    """What to look at next."""
    good = sum(row.verdict.value == "good" for row in report.rows)
    text = f"{good} of {len(report.rows)} configurations are what their labels say\n"
    return text + (f"logs and records: {report.work}\n" if report.work is not None else "")


def as_data(report: Report) -> str:
    """The report as JSON."""
    rows = [row.as_dict() for row in report.rows]
    return json.dumps({"verdict": report.verdict.value, "work": str(report.work or ""), "rows": rows}, indent=1)
