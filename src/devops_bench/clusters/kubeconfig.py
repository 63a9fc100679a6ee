"""Kubeconfig files that we write: one cluster, one user, one context, nothing else in them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from devops_bench.errors import ConfigError
from devops_bench.paths import atomic_write, private_dir

# Files that a kubeconfig may name instead of holding their content: they are inlined, so that the copy stands alone.
FILE_KEYS = ("certificate-authority", "client-certificate", "client-key")


def extract(path: Path, context: str) -> dict[str, Any]:
    """The kubeconfig of `context` in `path` alone, files inlined; never of a current context. Raises ConfigError."""
    try:
        data = YAML(typ="safe").load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"kubeconfig cannot be read: {error}", where=path, fix="check the path") from None
    except YAMLError as error:
        raise ConfigError(f"kubeconfig is not YAML: {str(error).splitlines()[0]}", where=path) from None
    chosen = _named(data, "contexts", "context", context, path)
    cluster = _inline(_named(data, "clusters", "cluster", chosen.get("cluster"), path), path)
    user = _inline(_named(data, "users", "user", chosen.get("user"), path), path)
    if user.get("tokenFile"):
        user["token"] = _read(path, user.pop("tokenFile")).decode().strip()
    return compose(cluster, user)


def for_token(cluster: dict[str, Any], token: str, namespace: str) -> dict[str, Any]:
    """A kubeconfig that reaches the same cluster with a bearer token, with `namespace` as its default."""
    return compose(cluster, {"token": token}, namespace)


def compose(cluster: dict[str, Any], user: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
    """Put the parts together under names that say nothing."""
    context = {"cluster": "cluster", "user": "user"} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "default", "context": context}],
        "current-context": "default",
    }


def write(path: Path, data: dict[str, Any]) -> Path:
    """Write `data` (as JSON, which is YAML), 0600 in a 0700 folder; returns `path`."""
    private_dir(path.parent)
    atomic_write(path, json.dumps(data, indent=1) + "\n", durable=False)
    return path


def _named(data: Any, section: str, key: str, name: Any, path: Path) -> dict[str, Any]:
    entries = data.get(section) if isinstance(data, dict) else None
    names = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get(key), dict):
            if entry.get("name") == name:
                return dict(entry[key])
            names.append(str(entry.get("name")))
    raise ConfigError(f"no {key} {name!r}", where=path, fix=f"it has: {', '.join(names) or 'none'}")


def _inline(section: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in FILE_KEYS:
        name = section.pop(key, None)
        if name and not section.get(f"{key}-data"):
            section[f"{key}-data"] = base64.b64encode(_read(path, name)).decode()
    return section


def _read(path: Path, name: Any) -> bytes:
    target = path.parent / str(name)
    try:
        return target.read_bytes()
    except OSError as error:
        raise ConfigError(f"{target} cannot be read: {error.strerror}", where=path, fix="restore the file") from None
