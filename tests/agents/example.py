"""The worked example of docs/extending/agents.md as an installed package, with the page's module and entry point."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "extending" / "agents.md"
PROGRAM = Path(__file__).with_name("tiny_agent.py")


def code() -> str:
    """The page's adapter."""
    (found,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


def site(place: Path, more: str = "", package: str = "tiny-adapter", version: str = "1.0") -> Path:
    """A site folder below `place` with the package; `more` are further lines of its entry points."""
    (entry,) = re.findall(r'```toml\n\[project\.entry-points\."(.*?)"\]\n(.*?)```', PAGE.read_text(), re.DOTALL)
    folder = place / "site"
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (folder / "tiny_adapter.py").write_text(code())
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{entry[0]}]\n{entry[1].replace(chr(34), '')}{more}")
    return folder


def program(place: Path) -> Path:
    """Its program below `place`. Skips where the host has no Python that the sandbox shows."""
    if not Path("/usr/bin/python3").exists():
        pytest.skip("the example's program needs /usr/bin/python3")
    made = place / "tiny-agent"
    made.write_bytes(PROGRAM.read_bytes())
    made.chmod(0o755)
    return made
