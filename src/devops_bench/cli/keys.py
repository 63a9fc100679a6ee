"""The environment of a supervisor: this one, plus the keys of `~/secrets.env`, minus what the plan drops."""

from __future__ import annotations

from collections.abc import Mapping

from devops_bench.matrix.plan import PlanOptions

NOTIFY_WEBHOOK = "BENCH_NOTIFY_WEBHOOK"


def with_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """`env` plus what `~/secrets.env` adds; a variable that is already set wins. Raises ConfigError."""
    from devops_bench.matrix.secrets import read_secrets, secrets_file
    from devops_bench.redact import SECRET_NAMES

    secrets = read_secrets(secrets_file(env))
    # An empty variable is an unset one: it hides no key of the file.
    found = {**env, **{name: secrets[name] for name in secrets if not env.get(name, "").strip()}}
    if secrets:
        found[SECRET_NAMES] = ",".join(sorted({*secrets, *env.get(SECRET_NAMES, "").split(",")} - {""}))
    # The right to post into somebody's channel is a secret too.
    if found.get(NOTIFY_WEBHOOK, "").strip():
        names = {*found.get(SECRET_NAMES, "").split(","), NOTIFY_WEBHOOK} - {""}
        found[SECRET_NAMES] = ",".join(sorted(names))
    return found


def supervisor_environment(options: PlanOptions, env: Mapping[str, str]) -> dict[str, str]:
    """What the supervisor and its combos get. Raises ConfigError when the secrets file is unusable."""
    from devops_bench.matrix.environment import launch_environment

    return launch_environment(options, with_secrets(env))
