"""manifest.json: the identity that all rows of one attempt share, beside its rows.json."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from devops_bench.results.jsontext import clean
from devops_bench.results.record import Record
from devops_bench.results.rows import camel
from devops_bench.results.setup import Setup

SCHEMA_VERSION = 2
"""Of rows.json and manifest.json; readers of version 2 accept files that lack the newer keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Run-level identity. `timeout_sec` is the agent's limit in seconds; image fields are None without an image."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    t: str
    setup_id: str
    model: str
    harness: str
    augmentation: tuple[str, ...]
    timeout_sec: float | None
    judge_model: str | None
    sandbox_image: str | None
    sandbox_image_digest: str | None

    def as_dict(self) -> dict[str, Any]:
        """The JSON object in camelCase."""
        return {camel(item.name): clean(getattr(self, item.name)) for item in fields(self)}


def manifest_from(record: Record, setup: Setup) -> Manifest:
    """The manifest of an attempt; its setup agrees with that of the attempt's row."""
    actual = setup.resolved(record)
    return Manifest(
        run_id=actual.run_id,
        t=actual.t,
        setup_id=actual.id,
        model=actual.model,
        harness=actual.harness,
        augmentation=tuple(actual.tokens),
        timeout_sec=actual.timeout_sec,
        judge_model=actual.judge_model,
        sandbox_image=actual.sandbox_image,
        sandbox_image_digest=actual.sandbox_image_digest,
    )
