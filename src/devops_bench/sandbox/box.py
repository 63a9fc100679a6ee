"""The sandbox of one attempt: prepares its private folders once, then starts commands and shells in it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import devops_bench
from devops_bench import settings
from devops_bench.errors import ConfigError
from devops_bench.paths import FILE_MODE, atomic_write, private_dir, runs_root, state_root
from devops_bench.process import tagged
from devops_bench.sandbox import disk, layout, shims
from devops_bench.sandbox.completed import Completed
from devops_bench.sandbox.launch import TAG, Tree, communicate
from devops_bench.sandbox.layout import SandboxSpec
from devops_bench.sandbox.mode import SandboxMode
from devops_bench.sandbox.network import Endpoint, Forwarder, Network, NetworkUnavailable, listen_inside
from devops_bench.sandbox.syscalls import program

if TYPE_CHECKING:
    from devops_bench.sandbox.shell import Shell


class Sandbox:
    """One attempt's place for commands. A context manager; `close` removes its control folder and any stray.

    `home`, `workspace`: paths as the agent sees them (host paths when not sandboxed).
    """

    def __init__(self, mode: SandboxMode, spec: SandboxSpec) -> None:
        """Prepare. Raises ConfigError when the kubeconfig cannot be read."""
        self.mode = mode
        self.tag = secrets.token_hex(8)
        self.notes: list[str] = [mode.warning] if mode.warning else []
        self.cage = "none"
        self._trees: list[Tree] = []
        # One of its own: a second sandbox over the same folders (a check's, say) must not disturb the first.
        self._control = spec.home.with_name(f"{spec.home.name}.{self.tag}")
        spec = replace(spec, hidden=(*spec.hidden, Path(devops_bench.__file__).parent, runs_root(), state_root()))
        if spec.kubeconfig is not None:
            server = _server(spec.kubeconfig)
            if server is not None and server not in spec.reach:
                spec = replace(spec, reach=(*spec.reach, server))
        if spec.guard is not None and spec.guard not in spec.reach:
            spec = replace(spec, reach=(*spec.reach, spec.guard))
        self.spec = spec
        self.network = spec.network if mode.sandboxed else Network.SHARED
        self.disk = disk.kind_of((spec.home, spec.workspace))
        self._prepare()

    @property
    def sandboxed(self) -> bool:
        """False when commands run bare on the host."""
        return self.mode.sandboxed

    @property
    def home(self) -> Path:
        """The agent's HOME as it sees it."""
        return Path(layout.HOME) if self.sandboxed else self.spec.home

    @property
    def workspace(self) -> Path:
        """The agent's working folder as it sees it."""
        return Path(layout.WORKSPACE) if self.sandboxed else self.spec.workspace

    @property
    def run_dir(self) -> Path:
        """The read-only folder of ours as the agent sees it; on the host it is `control/run`."""
        return Path(layout.RUN) if self.sandboxed else self._control / "run"

    @property
    def host_run_dir(self) -> Path:
        """The same folder on the host, where we write."""
        return self._control / "run"

    def place(self, name: str, data: bytes) -> str:
        """Show `data` to commands as a read-only file; its path as they see it."""
        atomic_write(self.host_run_dir / name, data, durable=False)
        return str(self.run_dir / name)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a command."""
        if self.sandboxed:
            return {**layout.inside_environment(self.spec), **(extra or {})}
        kube = {"KUBECONFIG": str(self.spec.home / ".kube/config")} if self.spec.kubeconfig else {}
        path = f"{self._control / 'bin'}:{os.environ.get('PATH') or layout.SYSTEM_PATH}"
        base = {"PATH": path, "HOME": str(self.spec.home), "TMPDIR": str(self._control / "tmp")}
        return {**base, **layout.common_environment(), **kube, **self.spec.env, **(extra or {})}

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,
        cap: int | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_error: Callable[[bytes], None] | None = None,
        on_start: Callable[[int], None] | None = None,
    ) -> Completed:
        """Run one command to its end, at most `timeout` seconds: TERM, then KILL of everything, within 2 s.

        `cap` bounds the bytes kept; callbacks get all of them as they come. stderr joins stdout unless `on_error` is
        given. `on_start` gets the pid whose death ends everything, not yet reaped while this runs. An exit code is
        never an exception; HarnessError when the sandbox itself cannot start.
        """
        split = on_error is not None
        with self.start(argv, env=env, cwd=cwd, split=split) as started:
            if on_start is not None:
                on_start(started.tree.process.pid)
            return communicate(
                started.tree,
                stdin=stdin,
                timeout=timeout,
                cap=settings.integer("agent_output_cap", {}) if cap is None else cap,
                most=self.spec.limits.output_bytes,
                on_output=on_output,
                on_error=on_error,
                is_full=self.is_full,
            )

    def is_full(self) -> bool:
        """True when nothing more can be written to HOME and workspace because of their limit."""
        return self.disk is disk.DiskKind.TMPFS and disk.is_full(self.spec.workspace)

    def shell(self, env: Mapping[str, str] | None = None) -> Shell:
        """A long-lived shell in a sandbox of its own: /tmp and background processes last until it is closed."""
        from devops_bench.sandbox.shell import Shell

        return Shell(self, env)

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        split: bool = False,
        fds: Sequence[int] = (),
    ) -> Started:
        """Start a command and leave it running: for `run`, `Shell`, and servers that last.

        The caller talks to `started.tree.process` through its stdin, stdout and, with `split`, stderr, and closes what
        it got; `started.tree.pidfd` becomes readable when the command ends. No other descriptor of ours gets in.
        """
        if not self.sandboxed:
            workdir = Path(cwd) if cwd else self.spec.workspace
            tree = Tree(argv, self.environment(env), fds, self.tag, bare=True, split=split, cwd=workdir)
            return self._opened(tree, None)
        try:
            return self._enclosed(argv, env, cwd, split, fds)
        except NetworkUnavailable as error:
            # Recorded, not silent: the attempt goes on with the host's network.
            self.network = Network.SHARED
            self.notes.append(f"network: shared, because the closed network failed: {error}")
            self._write_etc()
            return self._enclosed(argv, env, cwd, split, fds)

    def _enclosed(
        self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, split: bool, fds: Sequence[int]
    ) -> Started:
        inside = self.environment(env)
        options = layout.options(self.spec, self._control, inside, cwd or layout.WORKSPACE, self.network)
        own: list[int] = []
        with ExitStack() as held:
            if filtering := program():
                own.append(held.enter_context(_readable("filter", filtering)))
                options += ["--seccomp", str(own[0])]
            # By a descriptor, so that no command line shows them.
            args = held.enter_context(_readable("options", b"".join(word.encode() + b"\0" for word in options)))
            tree = Tree(
                ["bwrap", "--args", str(args), "--", *argv],
                {},
                [args, *own, *fds],
                self.tag,
                bare=False,
                split=split,
                cwd=Path("/"),
                executable=self.mode.bwrap,
            )
        forwarder = None
        try:
            if self.network is Network.CLOSED and self.spec.reach:
                forwarder = Forwarder(listen_inside(tree.leaf, self.spec.reach), self.spec.reach)
            return self._opened(tree, forwarder)
        except BaseException:
            tree.close()
            raise

    def _opened(self, tree: Tree, forwarder: Forwarder | None) -> Started:
        watch = None
        if self.disk is disk.DiskKind.WATCHED:
            limits = self.spec.limits
            watch = disk.DiskWatch((self.spec.home, self.spec.workspace), limits.disk_bytes, limits.disk_files)
        tree.open_gate(self.spec.limits, watch, self.spec.inspect)
        self.cage = tree.cage
        self._trees.append(tree)
        return Started(tree, forwarder)

    def taken(self) -> dict[str, Any]:
        """CPU seconds of all commands that have ended, and the largest memory peak of one (bytes); None: not known."""
        known = [tree.taken for tree in self._trees if tree.taken is not None]
        cpu = [one.cpu_sec for one in known if one.cpu_sec is not None]
        peaks = [one.rss_peak for one in known if one.rss_peak is not None]
        return {"cpu_sec": round(sum(cpu), 3) if cpu else None, "rss_peak": max(peaks, default=None)}

    def info(self) -> dict[str, Any]:
        """What environment.json says about it."""
        return {
            "sandboxed": self.sandboxed,
            "kind": self.mode.kind.value,
            "network": self.network.value,
            "limits": self.cage,
            "disk": self.disk.value,
            "notes": list(self.notes),
        }

    def close(self) -> None:
        """End strays and remove the control folder; `home` and `workspace` belong to the caller. Idempotent."""
        # With the first process of its namespace everything in a sandbox is gone; bare commands may have strays.
        for pid in () if self.sandboxed else tagged(TAG, self.tag):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, 9)
        shutil.rmtree(self._control, ignore_errors=True)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _prepare(self) -> None:
        for folder in (self.spec.home, self.spec.workspace):
            private_dir(folder)
        for name in ("etc", "run", "bin", "libexec", "tmp"):
            private_dir(self._control / name)
        self._write_etc()
        if self.spec.kubeconfig is not None:
            # A copy in the usual place: the agent may change its default namespace, not our file.
            _write_inside(self.spec.home, ".kube", "config", self.spec.kubeconfig.read_bytes())
        seen_bin = layout.TOOLS if self.sandboxed else str(self._control / "bin")
        path = os.environ.get("PATH") or layout.SYSTEM_PATH
        shims.write(
            self.spec,
            self._control / "bin",
            seen_bin,
            self._control / "libexec",
            sandboxed=self.sandboxed,
            path=path,
        )

    def _write_etc(self) -> None:
        for name, text in layout.etc_files(self.spec.reach, self.network).items():
            (self._control / "etc" / name).write_text(text)


class Started:
    """A running tree with its network; closing ends both."""

    def __init__(self, tree: Tree, forwarder: Forwarder | None) -> None:
        self.tree = tree
        self._forwarder = forwarder

    def close(self) -> None:
        """End the tree (if it still runs) and its forwarder. Idempotent."""
        self.tree.close()
        if self._forwarder is not None:
            self._forwarder.close()
            self._forwarder = None

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


@contextmanager
def _readable(name: str, data: bytes) -> Iterator[int]:
    """A descriptor to read `data` from, as long as the context lasts."""
    fd = os.memfd_create(name)
    try:
        os.write(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _write_inside(home: Path, folder: str, name: str, data: bytes) -> None:
    """Write `home/folder/name` without following a link that an agent left there from an earlier use."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError):
        (home / folder).mkdir(mode=0o700)
    try:
        inner = os.open(home / folder, flags)
    except OSError as error:
        raise ConfigError(f"is no folder ({error.strerror})", where=home / folder) from None
    try:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=inner)
        create = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, create, FILE_MODE, dir_fd=inner), "wb") as file:
            file.write(data)
    finally:
        os.close(inner)


def _server(kubeconfig: Path) -> Endpoint | None:
    """The API server of the current context."""
    from ruamel.yaml.error import YAMLError

    try:
        return _server_in(kubeconfig.read_text())
    except (OSError, YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ConfigError(f"cannot be read as a kubeconfig: {error}", where=kubeconfig) from None


@lru_cache(maxsize=4)
def _server_in(text: str) -> Endpoint | None:
    """As it stands in a kubeconfig; remembered, because each instance of an MCP server has a sandbox of its own."""
    from ruamel.yaml import YAML

    data = YAML(typ="safe", pure=True).load(text)
    contexts = {item["name"]: item["context"]["cluster"] for item in data.get("contexts", [])}
    clusters = {item["name"]: item["cluster"]["server"] for item in data.get("clusters", [])}
    if not clusters:
        return None
    return Endpoint.of(clusters[contexts[data["current-context"]]] if contexts else next(iter(clusters.values())))
