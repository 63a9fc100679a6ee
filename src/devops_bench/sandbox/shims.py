"""Guarded tools in the sandbox: which ones exist there, and the shims that stand before them on PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

from devops_bench.guard.judge import GUARDED
from devops_bench.guard.shim import ASK, ASK_NAME, shim
from devops_bench.sandbox import layout
from devops_bench.sandbox.layout import SandboxSpec


def real_tools(spec: SandboxSpec, *, sandboxed: bool, path: str) -> dict[str, str]:
    """Guarded tools by name, with their path as the agent sees it. Only what is there: no command appears from nowhere.

    Inside that is the given kubectl, binds at the folder for tools, and what lies below /usr; bare: the host's PATH.
    """
    found = {}
    for name in GUARDED:
        where = shutil.which(name, path=layout.SYSTEM_PATH if sandboxed else path)
        if where is not None and (not sandboxed or Path("/usr") in Path(where).resolve().parents):
            found[name] = where
    for bind in spec.binds if sandboxed else ():
        folder, _slash, name = bind.dest.rpartition("/")
        if folder == layout.REAL_TOOLS and name in GUARDED:
            found[name] = bind.dest
    if spec.kubectl:
        found["kubectl"] = f"{layout.REAL_TOOLS}/kubectl" if sandboxed else str(Path(spec.kubectl[0]).resolve())
    return found


def write(spec: SandboxSpec, host_bin: Path, seen_bin: str, host_libexec: Path, *, sandboxed: bool, path: str) -> None:
    """Fill the first folder on the agent's PATH: shims where there is a guard, else a link to the given kubectl."""
    tools = real_tools(spec, sandboxed=sandboxed, path=path)
    if not sandboxed and spec.kubectl:
        # Called by this name, because a binary may hold several tools.
        link = host_libexec / "kubectl"
        link.unlink(missing_ok=True)
        link.symlink_to(tools["kubectl"])
        tools["kubectl"] = str(link)
    if spec.guard is None:
        if spec.kubectl:
            (host_bin / "kubectl").symlink_to(tools["kubectl"])
        return
    _executable(host_bin / ASK_NAME, ASK)
    for name, real in tools.items():
        text = shim(name, real, f"{seen_bin}/{ASK_NAME}", spec.guard.host, spec.guard.port)
        _executable(host_bin / name, text)


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
