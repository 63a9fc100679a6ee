"""What is shown to a server's sandbox, for the ways in which servers are installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devops_bench.agents import install
from devops_bench.errors import ConfigError
from devops_bench.gateway.mcp import default, default_server
from devops_bench.gateway.mcp.policy import allowed, needles
from devops_bench.gateway.mcp.program import find


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def shown(
    argv: list[str], env: dict[str, str], extra: list[Path] | None = None
) -> tuple[list[str], list[str], list[str]]:
    found = find(argv, env, extra or [])
    assert all(str(bind.source) == str(Path(bind.dest).resolve()) and not bind.writable for bind in found.binds)
    return list(found.argv), [bind.dest for bind in found.binds], list(found.path)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "user").mkdir()
    return {"HOME": str(tmp_path / "user"), "PATH": f"{tmp_path}/user/.local/bin:/usr/bin:/bin"}


def test_a_system_program_needs_nothing(env: dict[str, str]) -> None:
    assert shown(["cat", "-u"], env) == (["/usr/bin/cat", "-u"], [], ["/usr/bin"])


def test_a_program_of_its_own_folder(env: dict[str, str], tmp_path: Path) -> None:
    server = executable(tmp_path / "opt/server/bin/server")
    assert shown([str(server), "--x"], env) == ([str(server), "--x"], [str(tmp_path / "opt/server")], [])


def test_a_home_is_never_shown_whole(env: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "user"
    server = executable(home / "server.sh")
    assert shown([str(server)], env)[1] == [str(server)]
    in_bin = executable(home / ".local/bin/tool")
    assert shown(["tool"], env) == ([str(in_bin)], [str(in_bin)], [str(in_bin.parent)])


def test_a_link_to_a_package_of_npm(env: dict[str, str], tmp_path: Path) -> None:
    modules = tmp_path / "user/project/node_modules"
    node = executable(tmp_path / "user/node-v24/bin/node", "\x7fELF")
    script = executable(modules / "server/bin/index.js", "#!/usr/bin/env -S node --no-warnings\n")
    link = modules / ".bin/server"
    link.parent.mkdir()
    link.symlink_to(Path("../server/bin/index.js"))
    env["PATH"] = f"{node.parent}:{env['PATH']}"
    assert shown([str(link)], env) == (
        [str(script)],
        [str(tmp_path / "user/node-v24"), str(modules)],
        [str(node.parent)],
    )


def test_a_virtual_environment_and_its_python(env: dict[str, str], tmp_path: Path) -> None:
    base = tmp_path / "user/python-3.12"
    executable(base / "bin/python3.12", "\x7fELF")
    venv = tmp_path / "user/tools/server"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.12\n")
    (venv / "bin/python").symlink_to(base / "bin/python3.12")
    script = executable(venv / "bin/server", f"#!{venv}/bin/python\n")
    (tmp_path / "user/.local/bin").mkdir(parents=True)
    (tmp_path / "user/.local/bin/server").symlink_to(script)
    assert shown(["server"], env)[:2] == ([str(script)], [str(base), str(venv)])
    python = [str(venv / "bin/python"), "-m", "server"]
    assert shown(python, env) == (python, [str(base), str(venv)], [])


def test_files_on_the_command_line(env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    config = tmp_path / "config"
    config.mkdir()
    (config / "a.toml").write_text("")
    executable(work / "server.py")
    monkeypatch.chdir(work)
    argv = ["sh", "server.py", f"--config={config}/a.toml", "--data", str(config), "serve", "/no/such"]
    words, binds, _path = shown(argv, env)
    assert words == ["/usr/bin/sh", f"{work}/server.py", *argv[2:]]
    assert binds == [str(config), f"{work}/server.py"], "the working folder is not shown whole"


def test_a_program_behind_env(env: dict[str, str], tmp_path: Path) -> None:
    server = executable(tmp_path / "opt/server/bin/server")
    argv = ["/usr/bin/env", "-i", "X=1", str(server), "--y"]
    assert shown(argv, env) == (argv, [str(tmp_path / "opt/server")], [])
    assert shown(["env"], env)[0] == ["/usr/bin/env"]


def test_a_shim_of_a_version_manager_stands_for_the_program(env: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "user/.somenv"
    real = executable(root / "versions/3.12/bin/runtime", "\x7fELF")
    shim = executable(root / "shims/runtime", "#!/bin/sh\nexec somenv exec runtime\n")
    env["PATH"] = f"{shim.parent}:/usr/bin"
    assert shown(["runtime"], env)[1] == [str(shim.parent)], "no manager to ask"
    manager = '[ "$SOMENV_ROOT $1 $2" = "{root} which runtime" ] && echo {answer}'
    executable(root / "bin/somenv", "#!/bin/sh\n" + manager.format(root=root, answer=real))
    assert shown(["runtime"], env) == ([str(real)], [str(real.parents[1])], [str(real.parent)])
    executable(root / "bin/somenv", "#!/bin/sh\n" + manager.format(root=root, answer=shim))
    assert shown(["runtime"], env)[0] == [str(shim)], "it knows of no other"
    other = executable(tmp_path / "opt/other/bin/runtime", "\x7fELF")
    env["PATH"] = f"{shim.parent}:{other.parent}"
    assert shown(["runtime"], env)[0] == [str(other)], "the next one on PATH is none of its shims"


def test_more_paths_on_request(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert shown(["cat"], env, [tmp_path / "data"])[1] == [str(tmp_path / "data")]


def test_launchers_are_known(env: dict[str, str], tmp_path: Path) -> None:
    executable(tmp_path / "user/.local/bin/npx")
    assert find(["npx", "-y", "x"], env).launcher
    assert find(["env", "A=1", "npx", "-y", "x"], env).launcher
    assert not find(["cat"], env).launcher


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "has no command"),
        (["no-such-program"], "'no-such-program' is not on PATH"),
        (["/no/such"], "/no/such is not an executable file"),
        (["/etc/passwd"], "/etc/passwd is not an executable file"),
    ],
)
def test_what_is_missing_is_named(env: dict[str, str], argv: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        find(argv, env)


def test_a_missing_interpreter_is_named(env: dict[str, str], tmp_path: Path) -> None:
    script = executable(tmp_path / "s/server", "#!/usr/bin/env no-such-runtime\n")
    with pytest.raises(ConfigError, match="'no-such-runtime' is not on PATH"):
        find([str(script)], env)
    with pytest.raises(ConfigError, match="path /no/such does not exist"):
        find(["cat"], env, [Path("/no/such")])


def test_the_default_server_follows_the_provider(
    env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_server("none", env) is None
    assert default_server("gke", env) is None
    gke = executable(tmp_path / "user/.local/bin/gke-mcp")
    assert default_server("gke", env) == (str(gke),)
    monkeypatch.setattr(default.install, "find", lambda key, _env: None)
    assert default_server("kwok", env) is None
    there = install.Installation("kubernetes-mcp-server", "1", "path", ("/opt/x",), ("/host/x",))
    monkeypatch.setattr(default.install, "find", lambda key, _env: there)
    for provider in ("kwok", "kind", "existing"):
        argv = default_server(provider, env)
        assert argv is not None and argv[0] == "/host/x"
        assert "{kubeconfig}" in argv and argv[argv.index("--toolsets") + 1] == "core"


def test_allowed_tools_by_either_name() -> None:
    assert allowed("k8s", (), ("a", "b")) is None
    assert allowed("k8s", ("a", "mcp__k8s__b", "bash"), ("a", "b", "c")) == {"a", "b"}


def test_credentials_are_found_in_every_form(tmp_path: Path) -> None:
    import base64

    pem = (
        "-----BEGIN EC PRIVATE KEY-----\n"
        + "\n".join("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+" + d for d in "123")
        + "\n-----END EC PRIVATE KEY-----\n"
    )
    data = base64.b64encode(pem.encode()).decode()
    config = tmp_path / "config"
    config.write_text(
        f"users:\n- name: a\n  user:\n    client-key-data: {data}\n    token: abcdefghijklmnopqrstuvwxyz0123\n"
    )
    found = needles(config)
    for text in (data, pem, pem.replace("\n", "\\n"), "token: abcdefghijklmnopqrstuvwxyz0123"):
        assert any(needle in text.encode() for needle in found), text
    assert not any(needle in b"-----BEGIN EC PRIVATE KEY-----\nother" for needle in found)
    assert needles(None) == ()


def test_python_of_this_very_test_can_be_shown() -> None:
    found = find([sys.executable, "-c", "pass"], {"PATH": "/usr/bin", "HOME": "/nonexistent"})
    assert Path(found.argv[0]).is_file()
