"""Has every model of the plan a key, a scripted one its scenario, and the judge a mind of its own? Names only.

Whether a key is any good is not asked here: that costs a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from devops_bench.errors import BenchError
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan
from devops_bench.tasks.suggest import did_you_mean

SCRIPTED = "scripted"
# Agents that ask no model.
NO_MODEL = frozenset({"noop", "scripted"})
# Provider -> the variables that may hold its key, after AGENT_API_KEY (or JUDGE_API_KEY), which serves any.
KEYS: Mapping[str, tuple[str, ...]] = {
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_API_KEY"),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
}
_TOLD_BY_ID: Mapping[str, str] = {
    "scripted:": SCRIPTED,
    "claude": "anthropic",
    "gpt": "openai",
    "chatgpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "codex": "openai",
}


def provider_of(model: str, told: str | None = None) -> str:
    """The provider of a model id: a scripted one by its prefix, else what the user told, the id, or google."""
    if told and not model.startswith("scripted:"):
        return told
    name = model.rpartition("/")[2].lower() if ":" not in model.partition("/")[0] else model
    return next((provider for start, provider in _TOLD_BY_ID.items() if name.startswith(start)), "google")


def check(plan: Plan, env: Mapping[str, str], *, dry_run: bool = False) -> list[Finding]:
    """Findings about models and judge. `env` holds the keys of the secrets file too; only names are looked at."""
    asking = [combo for combo in plan.combos if combo.config.agent not in NO_MODEL]
    models = list(dict.fromkeys(combo.model for combo in asking))
    level = Level.WARNING if dry_run else Level.ERROR
    found = _scenarios(plan, models)
    if not plan.options.vertex:
        found += _keys(models, plan.options.agent_provider, "AGENT_API_KEY", env, level)
        if plan.options.judge_model:
            found += _keys([plan.options.judge_model], plan.options.judge_provider, "JUDGE_API_KEY", env, level)
    if plan.options.judge_model in models:
        what = f"{plan.options.judge_model} judges itself"
        found.append(Finding(Level.WARNING, what, "set JUDGE_MODEL to a model that is not under test"))
    return found


def _keys(models: Iterable[str], told: str | None, own: str, env: Mapping[str, str], level: Level) -> list[Finding]:
    """One finding per provider without a key, naming the models that need it."""
    lacking: dict[str, list[str]] = {}
    for model in models:
        provider = provider_of(model, told)
        names = KEYS.get(provider)
        if names is not None and not any(env.get(name, "").strip() for name in (own, *names)):
            lacking.setdefault(provider, []).append(model)
    return [
        Finding(
            level,
            f"no key for provider {provider} ({', '.join(wanting[:3])}{' ...' if len(wanting) > 3 else ''})",
            f"set {KEYS[provider][0]} or {own}, in the environment or in ~/secrets.env (mode 600)",
        )
        for provider, wanting in lacking.items()
    ]


def _scenarios(plan: Plan, models: Iterable[str]) -> list[Finding]:
    """A scripted model is a file of the scenarios folder: without it the combo could only fail."""
    names = [model.partition(":")[2] for model in models if model.startswith("scripted:")]
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
