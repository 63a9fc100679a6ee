"""Asking before something that cannot be undone, or that costs money."""

from __future__ import annotations

import sys

import click

from devops_bench.errors import ConfigError


def confirm(what: str, yes: bool) -> None:
    """Go on only if `yes` was said or a person at a terminal says so; `what` would be done, as a sentence.

    Raises ConfigError where nobody can be asked, click.Abort on no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(what, fix="confirm with --yes")
    click.confirm(f"{what}. Go on?", abort=True)
