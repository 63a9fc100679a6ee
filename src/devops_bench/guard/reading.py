"""Commands that only look, as data: never refused, and let through by a shim without asking when they come first."""

from __future__ import annotations

from devops_bench.guard.words import listed

READING: dict[str, frozenset[str]] = {
    "kubectl": listed(
        "get describe logs explain version top events api-resources api-versions cluster-info wait diff"
        " completion options help kustomize"
    ),
    "helm": listed(
        "list ls status get history hist show inspect search template lint version env verify completion help"
    ),
    "tofu": listed("plan validate fmt show output init get version graph providers metadata"),
    "terraform": listed("plan validate fmt show output init get version graph providers metadata"),
    "kind": listed("get version completion help"),
    "gcloud": listed("version info help"),
    "aws": frozenset(["help"]),
    "az": listed("version find"),
}
READING_BELOW: dict[tuple[str, str], frozenset[str]] = {
    ("kubectl", "auth"): frozenset(["can-i", "whoami"]),
    ("kubectl", "rollout"): frozenset(["status", "history"]),
    ("kubectl", "apply"): frozenset(["view-last-applied"]),
    ("kubectl", "certificate"): frozenset(),
    ("kubectl", "plugin"): frozenset(["list"]),
}


def only_looks(tool: str, words: tuple[str, ...]) -> bool:
    """True when the words of a command line name a command that changes nothing."""
    if not words:
        return True
    if words[0] in READING.get(tool, ()):
        return True
    return len(words) > 1 and words[1] in READING_BELOW.get((tool, words[0]), ())
