"""What a server's program needs to be shown in its sandbox, found from its argv alone.

/usr is shown anyway. Beyond it: where the program is installed, its interpreter (`#!` line, virtual environment), and
files that the command line names. A user's whole home is never shown; what this cannot find is named by the user.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind

KUBECONFIG = "{kubeconfig}"
"""Stands for the server's kubeconfig in an argv."""
LAUNCHERS = frozenset({"npx", "npx-cli.js", "uvx", "uv", "pipx", "bunx", "docker", "podman", "deno"})
SHOWN = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
SHIMS = "shims"
SHIM_SEC = 10.0
# Folders that hold more than one program.
_TOP = ("home", "root", "opt", "srv", "mnt", "media", "tmp", "var", "var/tmp", "run", "etc")
_BROAD = (Path("/"), *(Path("/", name) for name in _TOP))
_VENV_HOME = re.compile(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    """A server's command as it runs inside. `path` are folders for its PATH, before the system's.

    `launcher`: it is a program that fetches what it runs, which the closed network prevents.
    """

    argv: tuple[str, ...]
    binds: tuple[Bind, ...]
    path: tuple[str, ...]
    launcher: bool = False


def find(argv: Sequence[str], env: Mapping[str, str], extra: Sequence[Path] = ()) -> Program:
    """The program of `argv`; `env` gives PATH and HOME, `extra` are more host paths to show.

    Raises ConfigError, in one line, for a program, interpreter or path that is not there.
    """
    if not argv:
        raise ConfigError("the MCP server has no command", fix="set AGENT_MCP_SERVER to its command line")
    search = _Search(env)
    words = [str(search.program(argv[0]))]
    rest = list(argv[1:])
    if Path(argv[0]).name == "env":
        # `env NAME=value program ...`: what it starts is the program.
        while rest and (rest[0].startswith("-") or "=" in rest[0]):
            words.append(rest.pop(0))
        words += [str(search.program(rest.pop(0)))] if rest else []
    launcher = Path(words[-1]).name in LAUNCHERS
    words += [search.word(word) for word in rest]
    for path in extra:
        if not path.exists():
            raise ConfigError(f"the MCP server's path {path} does not exist")
        search.roots.append(path.absolute())
    return Program(tuple(words), search.binds(), tuple(dict.fromkeys(search.path)), launcher)


class _Search:
    """Collects roots to show and folders for PATH."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._path = env.get("PATH") or os.defpath
        self._home = Path(env.get("HOME") or "/").absolute()
        self._seen: set[str] = set()
        self.roots: list[Path] = []
        self.path: list[str] = []

    def program(self, name: str) -> Path:
        """A program by path or name, with what it needs; the path to start it by."""
        if "/" in name:
            found = Path(name).expanduser().absolute()
        else:
            at = _on_path(name, self._path)
            if at is None:
                raise ConfigError(
                    f"the MCP server's program {name!r} is not on PATH", fix="install it or give its path"
                )
            found = at
            self.path.append(str(found.parent))
        if not found.is_file() or not os.access(found, os.X_OK):
            raise ConfigError(f"the MCP server's program {found} is not an executable file")
        if _venv(found) is None and not _shown(found):
            found = found.resolve()
        self._show(found)
        return found

    def word(self, word: str) -> str:
        """An argument: files and folders that it names are shown; a file given relative to here gets its full path."""
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        path = Path(value).expanduser()
        if not value or (not path.is_absolute() and not path.is_file()) or not path.exists():
            return word
        path = path.absolute()
        if path.is_file():
            self._show(path)
            if path.resolve() != path:
                self._show(path.resolve())
        elif not self._broad(path):
            self.roots.append(path)
        return f"{option}{equals}{path}"

    def binds(self) -> tuple[Bind, ...]:
        """Each root at its own path, none inside another."""
        wanted = sorted({root for root in self.roots if not _shown(root)})
        kept = [root for root in wanted if not any(other in root.parents for other in wanted)]
        return tuple(Bind(root.resolve(), str(root)) for root in kept)

    def _show(self, found: Path) -> None:
        self.roots.append(self._root(found))
        home = _venv(found)
        if home is not None:
            base = home.parent if home.name == "bin" and not self._broad(home.parent) else home
            self.roots += [base, self._root(found.resolve())]
        self._interpreter(found)

    def _root(self, found: Path) -> Path:
        """The folder that holds a whole installation, or the file alone where that would be somebody's home."""
        if "node_modules" in found.parts:
            return Path(*found.parts[: found.parts.index("node_modules") + 1])
        folder = found.parent
        if folder.name in {"bin", "sbin", "libexec"}:
            folder = folder.parent
        return found if self._broad(folder) else folder

    def _interpreter(self, found: Path) -> None:
        """Follow a `#!` line."""
        with found.open("rb") as handle:
            first = handle.readline(512)
        if not first.startswith(b"#!"):
            return
        words = first[2:].decode(errors="replace").split()
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            return
        if words[0] not in self._seen:
            self._seen.add(words[0])
            self.program(words[0])

    def _broad(self, folder: Path) -> bool:
        """True for folders that hold more than one program's files."""
        own = {self._home, self._home / ".local", self._home / ".cache", self._home / ".config", Path.cwd()}
        return folder in own or folder in _BROAD or folder in self._home.parents or folder in Path.cwd().parents


def _shown(path: Path) -> bool:
    return any(Path(top) == path or Path(top) in path.parents for top in SHOWN)


def _on_path(name: str, path: str) -> Path | None:
    """The first program of that name on `path`: itself, not a version manager's shim of it, where there is a choice."""
    first = None
    for folder in path.split(os.pathsep):
        at = shutil.which(name, path=folder or os.curdir)
        if at is None:
            continue
        found = _behind_shim(Path(at).absolute())
        if found.parent.name != SHIMS:
            return found
        first = first or found
    return first


def _behind_shim(found: Path) -> Path:
    """The program itself where a version manager (pyenv, nodenv, asdf ...) has only put a shim of it on PATH.

    A shim needs the whole manager around it; the manager is asked what it stands for. It looks for itself in the user's
    home unless told where it is.
    """
    if found.parent.name != SHIMS:
        return found
    root = found.parent.parent
    manager = root.name.lstrip(".")
    command = shutil.which(manager, path=f"{root / 'bin'}:{root / 'libexec'}:{os.environ.get('PATH', '')}")
    if command is None:
        return found
    try:
        done = subprocess.run(
            [command, "which", found.name], capture_output=True, text=True, timeout=SHIM_SEC,
            stdin=subprocess.DEVNULL, env={f"{manager.upper()}_ROOT": str(root), **os.environ},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return found
    target = Path(done.stdout.strip())
    return target if done.returncode == 0 and target.is_absolute() and target.is_file() else found


def _venv(found: Path) -> Path | None:
    """The base installation's bin folder when `found` belongs to a Python virtual environment."""
    config = found.parent.parent / "pyvenv.cfg"
    if not config.is_file():
        return None
    match = _VENV_HOME.search(config.read_text(errors="replace"))
    return Path(match[1]) if match else None
