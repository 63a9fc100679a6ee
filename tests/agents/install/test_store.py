"""Real installs by npm into a cache of the test: once, twice at once, killed, damaged, offline, without npm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from devops_bench.agents import install
from devops_bench.agents.install import node, store
from devops_bench.agents.install.doctor import State, examine
from devops_bench.agents.install.npm import InstallProgress
from devops_bench.errors import ConfigError

KEY = "kubernetes-mcp-server"  # the smallest: one package of 75 MB
PATIENCE = 120.0
INSTALLER = f"""
import json, os, sys
from dataclasses import asdict
from devops_bench.agents import install
seen = []
install.install({KEY!r}, os.environ, lambda progress: seen.append(asdict(progress)))
print(json.dumps(seen))
"""


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    real_home = os.environ.get("NPM_CONFIG_USERCONFIG") or str(Path("~root").expanduser() / ".npmrc")
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "DEVOPS_BENCH_CACHE": str(tmp_path / "cache"),
        **({"NPM_CONFIG_USERCONFIG": real_home} if os.access(real_home, os.R_OK) else {}),
    }


def start(env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", INSTALLER], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_until(holds, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def parts(env: Mapping[str, str]) -> list[Path]:
    return list(store.folder(KEY, env).parent.glob("part-*"))


def working_in(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and folder in (
                Path(os.readlink(entry / "cwd")),
                *Path(os.readlink(entry / "cwd")).parents,
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_an_install_is_whole_and_found_again(env: Mapping[str, str]) -> None:
    seen: list[InstallProgress] = []
    assert install.find(KEY, {**env, "PATH": "/nowhere"}) is None
    made = install.install(KEY, env, seen.append)
    assert install.find(KEY, env) == made and made.version == "0.0.67" and made.source == "pinned"
    assert made.argv[0].startswith("/opt/agent/node_modules/") and made.binds[0].dest == "/opt/agent/node_modules"
    assert (seen[0].phase, seen[-1].phase) == ("fetch", "done") and seen[-1].size == install.size(KEY, env) > 50 << 20
    home = store.folder(KEY, env)
    assert sorted(path.name for path in home.parent.iterdir()) == [home.name, "lock"], "no downloads, no leftovers"
    assert not (home / ".home").exists()
    again: list[InstallProgress] = []
    assert install.install(KEY, env, again.append) == made and again == []


def test_of_two_at_once_one_installs_and_the_other_waits(env: Mapping[str, str]) -> None:
    told = []
    for one in [start(env), start(env)]:
        out, err = one.communicate(timeout=PATIENCE)
        assert one.returncode == 0, err.decode()
        told.append(json.loads(out))
    installers = [seen for seen in told if any(not line["waiting"] for line in seen)]
    assert len(installers) == 1 and installers[0][-1]["phase"] == "done"
    assert install.find(KEY, env) is not None and not parts(env)


def test_a_killed_installer_leaves_nothing_running_and_the_next_one_goes_on(env: Mapping[str, str]) -> None:
    killed = start(env)
    downloads = store.folder(KEY, env).parent / "downloads"
    wait_until(lambda: parts(env) and any(downloads.rglob("*")), "npm fetches")
    (part,) = parts(env)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    wait_until(lambda: not working_in(part), "npm ends with its installer")
    assert install.find(KEY, {**env, "PATH": "/nowhere"}) is None
    assert install.install(KEY, env).version == "0.0.67"
    assert not parts(env) and not downloads.exists() and store.whole(store.folder(KEY, env))


@pytest.mark.sandbox
def test_a_damaged_install_is_seen_and_made_again(env: Mapping[str, str]) -> None:
    made = install.install(KEY, env)
    program = Path(made.host_argv[0])
    size = program.stat().st_size
    os.truncate(program, 1000)
    (finding,) = examine(KEY, env, wanted=True)
    assert (finding.state, finding.fix) == (State.BROKEN, f"devops-bench agents install {KEY}")
    install.install(KEY, env)
    assert program.stat().st_size == size and not parts(env)
    (store.folder(KEY, env) / store.STAMP).write_text("{")
    assert install.find(KEY, {**env, "PATH": "/nowhere"}) is None
    assert install.install(KEY, env) == made
    assert examine(KEY, env, wanted=True)[0].state is State.OK


@pytest.mark.parametrize("key", [KEY, "gemini"])
def test_offline_is_one_line_and_soon_told(env: Mapping[str, str], key: str) -> None:
    with pytest.raises(ConfigError, match=r"the npm registry cannot be reached \(ECONNREFUSED") as error:
        install.install(key, {**env, "npm_config_registry": "http://127.0.0.1:1/"})
    assert "\n" not in error.value.message() and "check network, proxy" in error.value.message()
    assert not parts(env)


def test_without_npm_is_one_line(env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_wheel", lambda: None)
    with pytest.raises(ConfigError, match=r"needs npm 7 or newer, and there is none; install Node.js, or run: pip"):
        install.install(KEY, {**env, "PATH": "/nowhere"})


def test_the_wheels_npm_serves_a_host_that_has_none(env: Mapping[str, str]) -> None:
    found = node.find_npm({"PATH": "/nowhere"})
    assert found is not None and found[1].endswith("npm-cli.js")
    assert install.install(KEY, {**env, "PATH": "/nowhere"}).version == "0.0.67"


def test_a_full_disk_is_told_before_anything_is_fetched(
    env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEAST_FREE", 1 << 60)
    with pytest.raises(ConfigError, match=r"MiB are free, .* are needed; free disk space, or set DEVOPS_BENCH_CACHE"):
        install.install(KEY, env)


def test_only_the_newest_installs_are_kept(env: Mapping[str, str]) -> None:
    parent = store.folder(KEY, env).parent
    for number in range(3):
        old = parent / f"{number:012d}"
        old.mkdir(parents=True)
        (old / store.STAMP).write_text("{}")
        os.utime(old, (number, number))
    install.install(KEY, env)
    assert sorted(path.name for path in parent.iterdir() if path.is_dir()) == [
        "000000000002",
        store.folder(KEY, env).name,
    ]


def test_what_is_not_on_npm_cannot_be_installed(env: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match="kubectl-ai is not on npm; put kubectl-ai on PATH, or set AGENT_TARGET"):
        install.install("kubectl-ai", env)
