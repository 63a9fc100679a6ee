"""The matrix as asked for: flags win over environment, environment over a matrix file, the file over defaults.

Called by `run` before anything exists on disk. Every malformed value is a ConfigError of one line that names the
variable, flag or file line; nothing here opens a task, a network or a process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from devops_bench import settings
from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import PlanOptions
from devops_bench.matrix.presets import DEFAULT_CONFIG, parse_configs
from devops_bench.matrix.secrets import KEY_NAMES, VERTEX_MARKER
from devops_bench.matrix.served import NOT_YET, PROVIDERS
from devops_bench.matrix.sources import AXES, Given, Sources, from_flags
from devops_bench.matrix.spec import MatrixSpec, TaskRef
from devops_bench.matrix.values import Values, absolute, absolute_paths
from devops_bench.models.providers import named
from devops_bench.redact import is_secret_name
from devops_bench.tasks.suggest import did_you_mean

REPEATS_MAX = 1000
# Settings that `run` and its combos read by themselves and that are passed on as they are, when set.
PASSED_ON: tuple[str, ...] = (
    "NAMESPACE",
    "TARGET_DEPLOYMENT_NAME",
    "APP_LOCATION",
    "AGENT_TARGET",
    "AGENT_ALLOWED_TOOLS",
    "AGENT_MCP_BINDS",
    "AGENT_RULES_TEXT",
    "BENCH_RUN_STATE_ROOT",
    *sorted(
        {row.env for row in settings.TABLE.values() if row.env} - {name for names in AXES.values() for name in names}
    ),
)
# What a misspelt variable of ours looks like.
_OURS = re.compile(r"(?:MATRIX|AGENT|JUDGE|CHAOS|BENCH)_[A-Z_]+")
_KNOWN = {
    *(name for names in AXES.values() for name in names),
    *PASSED_ON,
    *KEY_NAMES,
    *(row.env for row in settings.TABLE.values() if row.env),
    "AGENT_MODEL",
    "BENCH_FIXER",
    "BENCH_NOTIFY_COMMAND",
    "BENCH_NOTIFY_WEBHOOK",
    "BENCH_SMOKE",
    "BENCH_AGENT_SCRIPT",
    "BENCH_AGENT_TYPE",
    "BENCH_EXISTING_CONTEXT",
    "BENCH_EXISTING_KUBECONFIG",
    "BENCH_NO_INFRA",
    "BENCH_PARALLEL",
    "BENCH_USE_MCP",
}
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+~=,#%^\[\]-]{0,255}", re.ASCII)
_STAMP = re.compile(r"latest|\d[A-Za-z0-9._-]{0,99}", re.ASCII)
_BASE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,126}", re.ASCII)


def read_axes(
    env: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
    file: Path | None = None,
    *,
    cwd: Path | None = None,
) -> MatrixSpec:
    """The matrix that `flags` (by axis name, None = not given), `env` and a matrix file ask for.

    Raises ConfigError for the first malformed value. With RESUME_STAMP no axis is read.
    """
    here = (cwd or Path.cwd()).absolute()
    values: Mapping[str, Given] = {}
    extra: Mapping[str, str] = {}
    if file is not None:
        from devops_bench.matrix.file import read_matrix_file

        values, extra = read_matrix_file(here / file)
    return _Reader(Sources(env, from_flags(flags or {}, here), values, here), extra).spec()


class _Reader(Values):
    """One pass over the sources, collecting notes on the way."""

    def __init__(self, sources: Sources, extra_env: Mapping[str, str]) -> None:
        super().__init__(sources)
        self.extra_env = extra_env
        self.notes: list[str] = []

    def spec(self) -> MatrixSpec:
        stamp = self.matching("resume_stamp", _STAMP, "a run's stamp", "use the name of a folder below the runs root")
        dry_run = self.flag("dry_run")
        poll = self.seconds("poll_timeout_sec", "poll_timeout")
        if self.flag("remote"):
            raise self.given("remote").error("remote hosts are not available yet", "unset it to run on this host")
        if stamp is not None:
            return MatrixSpec((), (), (), self.options(), dry_run=dry_run, resume_stamp=stamp, poll_timeout_sec=poll)
        self.suspicious_names()
        vertex = self.flag("vertex")
        configs = self.sources.get("configs")
        parsed, notes = (
            parse_configs(self.split(configs), configs.place) if configs else parse_configs([DEFAULT_CONFIG])
        )
        self.notes += notes
        return MatrixSpec(
            tasks=self.tasks(),
            models=self.models(),
            configs=parsed,
            options=self.options(),
            repeats=self.repeats(),
            cluster_base=self.matching("cluster_name", _BASE, "a cluster name", "use a-z, 0-9 and inner dashes")
            or "eval",
            provider=self.choice("provider", (*PROVIDERS, *NOT_YET)),
            dry_run=dry_run,
            poll_timeout_sec=poll,
            skip_model_preflight=self.flag("skip_model_preflight"),
            dropped=KEY_NAMES if vertex else (),
            notes=tuple(self.notes),
        )

    def required(self, axis: str, noun: str) -> Given:
        given = self.get(axis)
        if given is None:
            raise ConfigError(f"no {noun} given", fix=f"set {AXES[axis][0]}, --{axis} or `{axis}:` in a matrix file")
        return given

    def tasks(self) -> tuple[TaskRef, ...]:
        given = self.required("tasks", "tasks")
        return tuple(TaskRef(word, given.base, given.place) for word in given.words() if word)

    def models(self) -> tuple[str, ...]:
        given = self.required("models", "models")
        found: dict[str, None] = {}
        for model in self.split(given):
            if not _MODEL.fullmatch(model):
                raise given.error(
                    f"{model!r} is not a model id",
                    "start it with a letter or digit; of other signs it may hold . _ : / @ + ~ = , # % ^ [ ] -",
                )
            if model in found:
                self.notes.append(f"model {model} is given more than once: runs once")
            found[model] = None
        return tuple(found)

    def repeats(self) -> int:
        given = self.get("repeats")
        if given is None:
            return 1
        if not re.fullmatch(r"\d{1,9}", given.text, re.ASCII) or not 1 <= int(given.text) <= REPEATS_MAX:
            raise given.error(f"{given.text!r} is not a number of repeats", f"set it to 1..{REPEATS_MAX}")
        return int(given.text)

    def sandbox(self) -> bool:
        on = self.sandboxed()
        if not on:
            self.notes.append("THE SANDBOX IS OFF: agents run with your rights and can read the answers")
        return on

    def sandboxed(self) -> bool:
        given = self.get("sandbox")
        word = given.text.lower() if given else "1"
        if given and word == "docker":
            raise given.error("the docker sandbox is not available yet", "use bwrap")
        if given and word not in {"0", "false", "no", "off", "1", "true", "bwrap"}:
            raise given.error(f"{given.text!r} is not a sandbox", did_you_mean(given.text, ("bwrap", "1", "0", "off")))
        return word not in {"0", "false", "no", "off"}

    def pair(self, what: str) -> tuple[str | None, str | None]:
        """A model and its provider, for the judge or chaos."""
        model = self.matching(f"{what}_model", _MODEL, "a model id", "use the provider's id of one model")
        provider = self.model_provider(f"{what}_provider")
        if provider and not model:
            raise self.given(f"{what}_provider").error(
                f"names a {what} provider without a model", f"set {what.upper()}_MODEL"
            )
        return model, provider

    def model_provider(self, axis: str) -> str | None:
        """The canonical name of a provider of models."""
        given = self.get(axis)
        if given is None:
            return None
        try:
            return named(given.text)
        except ConfigError as error:
            raise given.error(error.what, error.fix) from None

    def mcp_server(self) -> tuple[str, ...]:
        given = self.get("mcp_server")
        if given is None:
            return ()
        whole = absolute(given.text, given.base)
        if isinstance(given.value, str) and " " in given.text and whole.is_file():
            return (str(whole),)
        program, *rest = given.words()
        # The supervisor works elsewhere: a path to the program must not depend on where the launch was typed.
        return (str(absolute(program, given.base)) if "/" in program else program, *rest)

    def skills_paths(self) -> tuple[str, ...]:
        given = self.get("skills_paths")
        if given is None:
            return ()
        pieces = given.value if isinstance(given.value, tuple) else given.text.split(",")
        return tuple(str(absolute(piece.strip(), given.base)) for piece in pieces if piece.strip())

    def options(self) -> PlanOptions:
        project = self.matching("project", _WORD, "a project id", "use the cloud project's id")
        location = self.matching("location", _WORD, "a location", "use a zone or region, as us-central1-a")
        judge_model, judge_provider = self.pair("judge")
        vertex = self.flag("vertex")
        extra = self.get("agent_extra_flags")
        return PlanOptions(
            max_parallel=int(self.number("max_parallel", "max_parallel")),
            agent_timeout_sec=self.seconds("agent_timeout_sec", "agent_timeout_matrix"),
            agent_max_turns=int(self.number("agent_max_turns", "agent_max_turns")),
            sandbox=self.sandbox(),
            project=project,
            location=location or "us-central1-a",
            agent_provider=self.model_provider("agent_provider"),
            agent_extra_flags=extra.words() if extra else (),
            mcp_server=self.mcp_server(),
            skills_paths=self.skills_paths(),
            scenarios_dir=self.folder("scenarios_dir"),
            judge_model=judge_model,
            judge_provider=judge_provider,
            vertex=vertex,
            no_teardown=self.flag("no_teardown"),
            results_dir=self.folder("results_dir"),
            env=self.passed_on(project, vertex),
        )

    def passed_on(self, project: str | None, vertex: bool) -> dict[str, str]:
        """The non-secret environment of every combo beside its own axes."""
        env = self.sources.env
        for row, default in settings.TABLE.items():
            if default.env in PASSED_ON:
                settings.value(row, env)
        found = dict(self.extra_env) | {name: env[name] for name in PASSED_ON if env.get(name, "").strip()}
        found |= absolute_paths(found, self.sources.cwd)
        if self.get("sandbox") is not None:
            # What was asked for holds wherever a combo starts, whatever the variable says there.
            found["BENCH_AGENT_SANDBOX"] = "bwrap" if self.sandboxed() else "off"
        chaos_model, chaos_provider = self.pair("chaos")
        if chaos_model:
            found["CHAOS_MODEL"] = chaos_model
        if chaos_provider:
            found["CHAOS_PROVIDER"] = chaos_provider
        if vertex:
            found |= self.vertex(project)
        return found

    def vertex(self, project: str | None) -> dict[str, str]:
        """What replaces the keys when agents and judges use ambient cloud credentials."""
        env = self.sources.env
        owner = project or env.get("GOOGLE_CLOUD_PROJECT", "").strip()
        if not owner:
            raise self.given("vertex").error("cloud credentials need a project", "set PROJECT_ID")
        location = (
            env.get("GCP_VERTEX_LOCATION", "").strip() or env.get("GOOGLE_CLOUD_LOCATION", "").strip() or "global"
        )
        return {
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_CLOUD_PROJECT": owner,
            "GCP_PROJECT_ID": owner,
            "GOOGLE_CLOUD_LOCATION": location,
            "GCP_VERTEX_LOCATION": location,
            "GOOGLE_CLOUD_API_KEY": VERTEX_MARKER,
        }

    def suspicious_names(self) -> None:
        """A note for each variable that looks like one of ours, misspelt: it would silently do nothing."""
        for name in sorted(self.sources.env):
            if name in _KNOWN or not _OURS.fullmatch(name) or is_secret_name(name):
                continue
            # Close only: CI systems have variables such as AGENT_NAME of their own.
            for hit in get_close_matches(name, _KNOWN - self.sources.env.keys(), n=1, cutoff=0.85):
                self.notes.append(f"variable {name} is not known and has no effect: did you mean {hit}?")
