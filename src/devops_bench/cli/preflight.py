"""`devops-bench preflight [STAMP]`: the `Before any retry` list, worked through, each item with its fix."""

from __future__ import annotations

import json
import os

import click

from devops_bench import paths


@click.command()
@click.argument("stamp", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(stamp: str | None, as_json: bool) -> int:
    """Check what must hold before combos are tried again: for run STAMP, or for this host alone.

    Changes nothing. Exit 0: go on; 3: something has to be put right first.
    """
    from devops_bench.cli.keys import with_secrets
    from devops_bench.errors import ExitCode
    from devops_bench.matrix.plan import Plan
    from devops_bench.supervisor import checklist, runs, snapshot

    env = with_secrets(os.environ)
    subject = checklist.Subject(env)
    if stamp is not None:
        run_dir = runs.find(stamp, paths.runs_root())
        subject = checklist.Subject(env, run_dir, Plan.read(run_dir), snapshot.load(run_dir)[0])
    items = checklist.examine(subject)
    ok = all(item.ok for item in items)
    if as_json:
        data = [
            {
                "check": item.key,
                "ok": item.ok,
                "text": item.text,
                "findings": [
                    {"level": one.level.value, "where": one.where, "what": one.what, "fix": one.fix}
                    for one in item.findings
                ],
            }
            for item in items
        ]
        click.echo(json.dumps({"ok": ok, "checks": data}, indent=1))
    else:
        for item in items:
            word = "ok     " if item.ok and not item.findings else "warning" if item.ok else "WRONG  "
            click.echo(f"{word} {item.key:<12} {item.text if not item.findings else ''}".rstrip())
            for one in item.findings:
                click.echo(f"        - {one.line()}")
    return int(ExitCode.OK if ok else ExitCode.INVALID)
