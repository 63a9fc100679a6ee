"""Can every model be reached, as far as names tell (provider, key, base URL, scenario); is the judge another model?

Whether a key is any good is not asked here: that costs a request. No value is looked at but for being there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from devops_bench.errors import BenchError, ConfigError
from devops_bench.matrix.environment import launch_environment
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import NO_MODEL, Plan
from devops_bench.models.providers import SCRIPTED_PREFIX, Resolved, bare, is_scripted, provider_in, resolve
from devops_bench.tasks.suggest import did_you_mean


def check(plan: Plan, env: Mapping[str, str], *, dry_run: bool = False) -> list[Finding]:
    """Findings about models and judge. `env` holds the keys of the secrets file too."""
    options = plan.options
    models = list(dict.fromkeys(combo.model for combo in plan.combos if combo.config.agent not in NO_MODEL))
    level = Level.WARNING if dry_run else Level.ERROR
    seen = launch_environment(options, env)
    found = _scenarios(plan, models) + _reachable(models, options.agent_provider, "AGENT_API_KEY", seen, level)
    found += _wires(plan, seen)
    if options.judge_model is not None:
        found += _reachable([options.judge_model], options.judge_provider, "JUDGE_API_KEY", seen, level)
    if options.judge_model in models:
        what = f"{options.judge_model} judges itself"
        found.append(Finding(Level.WARNING, what, "set JUDGE_MODEL to a model that is not under test"))
    return found


def _reachable(
    models: Iterable[str], told: str | None, own: str, env: Mapping[str, str], level: Level
) -> list[Finding]:
    """One finding for each thing to set, however many models want it."""
    lacking: dict[str, list[ConfigError]] = {}
    for model in models:
        try:
            resolve(model, told, env, own=own)
        except ConfigError as error:
            lacking.setdefault(error.fix, []).append(error)
    return [
        Finding(
            level,
            errors[0].what + (f" and {len(errors) - 1} more" if len(errors) > 1 else ""),
            f"{fix}; keys may stand in ~/secrets.env (mode 600)" if "_KEY" in fix else fix,
        )
        for fix, errors in lacking.items()
    ]


def _wires(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
    """Pairs of agent and model that share no wire format: nothing is translated between them."""
    from devops_bench import agents
    from devops_bench.gateway.model import wire_for

    told, found = plan.options.agent_provider, []
    for key, model in dict.fromkeys((combo.config.agent, combo.model) for combo in plan.combos):
        if key in NO_MODEL:
            continue
        try:
            provider = provider_in(model, told, env)
            wires = agents.get(key).wires
        except BenchError:
            continue  # an unknown provider is told by `_reachable`, an agent that cannot be loaded with the agents
        try:
            if wires:
                wire_for(key, wires, Resolved(provider, bare(model, provider)), told)
        except ConfigError as error:
            found.append(Finding.of(error))
    return found


def _scenarios(plan: Plan, models: Iterable[str]) -> list[Finding]:
    """A scripted model is a file of the scenarios folder: without it the combo could only fail."""
    names = [model.removeprefix(SCRIPTED_PREFIX) for model in models if is_scripted(model)]
    if not names:
        return []
    if plan.options.scenarios_dir is None:
        what = "scripted models need a folder of scenario files"
        return [Finding(Level.ERROR, what, "set BENCH_SCENARIOS_DIR or --scenarios-dir")]
    from devops_bench.models.scenario import load_scenarios

    try:
        there = load_scenarios(Path(plan.options.scenarios_dir))
    except BenchError as error:
        return [Finding.of(error)]
    return [
        Finding(Level.ERROR, f"no scenario {name!r}", did_you_mean(name, there), plan.options.scenarios_dir)
        for name in names
        if name not in there
    ]
