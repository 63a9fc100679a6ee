"""Rules about what an agent can see: nothing in its world may say what is wrong, or that it is being evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from devops_bench.tasks.review.subject import Hit, Subject

_TELLING = re.compile(
    r"(?<![a-z])(broken|faulty|misconfig\w*|bug|buggy|decoy|distractor|trap|sabotag\w*|inject(?!or)\w*|fixme|wrong|invalid)(?![a-z])",
    re.IGNORECASE,
)
_HARNESS = re.compile(r"devops[-_ ]?bench|\bkwok\b|\bbenchmark\b|evaluation harness|verification_spec", re.IGNORECASE)


def telling_name(subject: Subject) -> Iterator[Hit]:
    """Names, labels and annotations of what setup makes."""
    for path, line, item in subject.setup_objects():
        for text in _visible(item):
            found = _TELLING.search(text)
            if found:
                what = f"{item.get('kind')} says {found[0]!r} ({text[:60]})"
                yield Hit(line, what, "use the name that a team would have given it", path)


def _visible(item: dict[str, Any]) -> Iterator[str]:
    metadata = item.get("metadata")
    if not isinstance(metadata, dict):
        return
    yield str(metadata.get("name", ""))
    for field in ("labels", "annotations"):
        for key, value in (metadata.get(field) or {}).items():
            yield f"{key}={value}"


def harness_name(subject: Subject) -> Iterator[Hit]:
    """The prompt, manifests and workspace files."""
    if subject.spec:
        found = _HARNESS.search(subject.spec.prompt)
        if found:
            key = next((name for name in ("prompt", "goal", "input") if name in (subject.doc.data or {})), "prompt")
            yield Hit(subject.line(key), f"the prompt says {found[0]!r}", "an agent must not know that it is judged")
    for path, lines in subject.files("setup", "workspace"):
        for number, text in enumerate(lines, 1):
            found = _HARNESS.search(text)
            if found:
                yield Hit(number, f"says {found[0]!r}", "an agent must not know that it is judged", path)
