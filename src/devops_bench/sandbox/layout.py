"""What the sandbox shows: pure functions from a spec to bubblewrap options and to the environment inside.

The root starts empty. Nothing of the host appears unless a line here puts it there; the agent's paths are neutral, so
that no run, task or model name leaks through a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devops_bench.errors import HarnessError
from devops_bench.sandbox import procfs
from devops_bench.sandbox.limits import SandboxLimits
from devops_bench.sandbox.mode import ISOLATION
from devops_bench.sandbox.network import Endpoint, Network
from devops_bench.sandbox.neutral import neutral

HOME = "/home/agent"
WORKSPACE = "/workspace"
TOOLS = "/opt/tools/bin"
REAL_TOOLS = "/opt/tools/libexec"
RUN = "/run/agent"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TOP_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Certificates, the dynamic linker's cache and Debian's alternatives: without them curl, git and awk do not work.
ETC_SHARED = (
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki",
    "ca-certificates",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
)


@dataclass(frozen=True, slots=True)
class Bind:
    """A host path shown inside, read-only unless `writable`."""

    source: Path
    dest: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What one attempt's sandbox holds.

    `home` and `workspace` are private host folders; `kubeconfig` is the agent's own and is copied into the home.
    `kubectl` is the argv prefix of a kubectl (a multi-call binary is fine). `reach` are the only addresses the closed
    network leads to; the kubeconfig's server is added. `hidden` are host paths to blank out where a bind would show
    them. `env` holds plain variables for inside: never a secret.

    `guard` is where a guard listens: commands that can harm a cluster then pass through it, see `shims`. `inspect` is
    the second line: asked about every command line that runs (argv, environment), true ends the tree.
    """

    home: Path
    workspace: Path
    kubeconfig: Path | None = None
    kubectl: tuple[str, ...] = ()
    reach: tuple[Endpoint, ...] = ()
    network: Network = Network.CLOSED
    binds: tuple[Bind, ...] = ()
    hidden: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    guard: Endpoint | None = None
    inspect: Callable[[Sequence[str], Mapping[str, str]], bool] | None = None


def etc_files(reach: Sequence[Endpoint], network: Network) -> dict[str, str]:
    """The synthetic files of /etc, by name."""
    names = sorted({endpoint.host for endpoint in reach if endpoint.is_name})
    hosts = "127.0.0.1 localhost agent\n::1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in names)
    resolv = "" if network is Network.CLOSED else _read("/etc/resolv.conf")
    return {
        "passwd": f"agent:x:1000:1000:agent:{HOME}:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
        "group": "agent:x:1000:\nnogroup:x:65534:\n",
        "hosts": hosts if network is Network.CLOSED else _read("/etc/hosts"),
        "hostname": "agent\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "resolv.conf": resolv,
    }


def inside_environment(spec: SandboxSpec) -> dict[str, str]:
    """The whole environment of a command inside."""
    return {
        "PATH": f"{TOOLS}:{SYSTEM_PATH}",
        "HOME": HOME,
        "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own tmpfs
        **common_environment(),
        **({"KUBECONFIG": f"{HOME}/.kube/config"} if spec.kubeconfig else {}),
        **spec.env,
    }


def common_environment() -> dict[str, str]:
    """Variables that are the same with and without a sandbox."""
    return {"USER": "agent", "LOGNAME": "agent", "SHELL": "/bin/bash", "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}


def options(spec: SandboxSpec, control: Path, env: Mapping[str, str], workdir: str, network: Network) -> list[str]:
    """All bubblewrap options but the command. `control` holds `etc/` and `run/` as `Sandbox` prepares them."""
    out = [*ISOLATION]
    if network is Network.CLOSED:
        out.append("--unshare-net")
    binds = [Bind(Path("/usr"), "/usr")]
    for name in TOP_LINKS:
        top = Path("/", name)
        if top.is_symlink():
            out += ["--symlink", str(top.readlink()), str(top)]
        elif top.is_dir():
            binds.append(Bind(top, str(top)))
    binds += [Bind(Path("/etc", name), f"/etc/{name}") for name in ETC_SHARED if Path("/etc", name).exists()]
    binds += [Bind(control / "etc" / name, f"/etc/{name}") for name in sorted(etc_files((), network))]
    binds.append(Bind(control / "run", RUN))
    binds.append(Bind(control / "bin", TOOLS))
    if spec.kubectl:
        binds.append(Bind(neutral(Path(spec.kubectl[0])), f"{REAL_TOOLS}/kubectl"))
    binds += [Bind(spec.home, HOME, True), Bind(spec.workspace, WORKSPACE, True)]
    binds += [replace(bind, source=neutral(bind.source)) for bind in spec.binds]
    out += ["--proc", "/proc", *procfs.options(), "--dev", "/dev"]
    out += ["--size", str(64 << 20), "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    out += ["--size", str(spec.limits.tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108
    out += ["--dir", "/var/tmp", "--symlink", "../run", "/var/run"]  # noqa: S108
    for bind in binds:
        out += ["--bind" if bind.writable else "--ro-bind", str(bind.source), bind.dest]
    for mask in masks(binds, spec.hidden):
        out += ["--size", "4096", "--tmpfs", mask, "--remount-ro", mask]
    out += ["--remount-ro", "/"]
    for name, value in env.items():
        out += ["--setenv", name, value]
    return [*out, "--chdir", workdir]


def masks(binds: Sequence[Bind], hidden: Sequence[Path]) -> list[str]:
    """Places inside where a hidden host folder would show, to be covered by an empty one.

    Raises HarnessError when a bind shows a hidden folder itself: that is a mistake of ours, not of the host.
    """
    covers = []
    for path in {item.resolve() for item in hidden if item.is_dir()}:
        for bind in binds:
            source = bind.source.resolve()
            if source == path and not bind.writable:
                raise HarnessError(f"the sandbox would show {path}, which must be hidden")
            if source in path.parents:
                covers.append(str(Path(bind.dest) / path.relative_to(source)))
    return sorted(covers)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
