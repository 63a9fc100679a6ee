"""Finding a run by what a person types: a stamp, a unique beginning of one, a path, or `latest`."""

from __future__ import annotations

from pathlib import Path

from devops_bench.errors import ConfigError


def find(name: str, root: Path) -> Path:
    """The run folder. Raises ConfigError when there is none or several."""
    if "/" in name or name in {".", ".."}:
        path = Path(name).expanduser().resolve()
        if (path / "plan.json").is_file():
            return path
        raise ConfigError("no run here (plan.json is missing)", where=path, fix="give a stamp or a run folder")
    known = stamps(root)
    if not known:
        raise ConfigError("no runs yet", where=root, fix="launch one with `devops-bench run`")
    if name == "latest":
        return root / known[-1]
    if name in known:
        return root / name
    near = [stamp for stamp in known if stamp.startswith(name)] if name else []
    if len(near) == 1:
        return root / near[0]
    if near:
        raise ConfigError(f"{name!r} fits {len(near)} runs", where=root, fix=f"give more of it, as {near[-1]}")
    raise ConfigError(f"no run {name!r}", where=root, fix=f"the newest is {known[-1]}")


def stamps(root: Path) -> list[str]:
    """All stamps below `root`, oldest first."""
    try:
        return sorted(entry.name for entry in root.iterdir() if (entry / "plan.json").is_file())
    except OSError:
        return []
