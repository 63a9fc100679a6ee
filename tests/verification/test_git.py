"""`git_repo_sync` on real repositories, honest and hostile ones."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devops_bench.kube import Deadline
from devops_bench.verification import Baseline, Status, Verdict, VerifyContext, take_baseline
from devops_bench.verification.evaluate import evaluate
from devops_bench.verification.scope import Scope

from .builders import LIMITS, check, entry

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]


def git(repo: Path, *argv: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(repo.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *IDENTITY, *argv], cwd=repo, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(repo: Path, replicas: int) -> str:
    (repo / "app.yaml").write_text(f"spec:\n  replicas: {replicas}\n")
    git(repo, "add", "app.yaml")
    git(repo, "commit", "-qm", f"replicas {replicas}")
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace/repo"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, 1)
    return folder


def look(repo: Path, baseline: Baseline | None = None, repo_path: str = "repo", **fields: Any) -> Verdict:
    context = VerifyContext(workspace=repo.parent, baseline=baseline, limits=LIMITS)
    return evaluate(check("git_repo_sync", repo_path=repo_path, **fields), Scope(context, None, Deadline.after(20)))


REPLICAS = {"file": "app.yaml", "path": "spec.replicas", "op": "eq"}


def test_a_field_is_read_at_a_ref_and_not_from_the_working_tree(repo: Path) -> None:
    git(repo, "branch", "old")
    commit(repo, 2)
    (repo / "app.yaml").write_text("spec:\n  replicas: 9\n")
    assert look(repo, **REPLICAS, value=2).status is PASS
    assert look(repo, **REPLICAS, value=9).status is FAIL
    assert look(repo, **REPLICAS, value=1, ref="old").status is PASS
    assert look(repo, ref="gone").status is FAIL
    assert look(repo, file="gone.yaml").status is FAIL
    assert look(repo, file="gone.yaml", op="absent").status is PASS
    assert look(repo, file="app.yaml", op="contains", value="replicas: 2").status is PASS


def test_a_bare_repository_is_read_too(repo: Path) -> None:
    git(repo.parent, "clone", "-q", "--bare", str(repo), "bare.git")
    assert look(repo, repo_path="bare.git", **REPLICAS, value=1).status is PASS


def test_a_home_relative_repository_is_found(repo: Path) -> None:
    context = VerifyContext(home=repo.parent, limits=LIMITS)
    scope = Scope(context, None, Deadline.after(20))
    assert evaluate(check("git_repo_sync", repo_path="~/repo"), scope).status is PASS


def baseline_of(repo: Path) -> Baseline:
    entries = [entry("e", "git_repo_sync", repo_path="repo", require_new_commit=True)]
    return take_baseline(entries, VerifyContext(workspace=repo.parent, limits=LIMITS))


def test_a_new_commit_is_one_that_was_not_there_after_setup(repo: Path) -> None:
    second = commit(repo, 2)
    baseline = baseline_of(repo)
    assert look(repo, baseline, require_new_commit=True).status is FAIL
    commit(repo, 3)
    assert look(repo, baseline, require_new_commit=True).status is PASS
    git(repo, "reset", "-q", "--hard", f"{second}~1")
    assert look(repo, baseline, require_new_commit=True).status is FAIL, "going back is nothing new"
    git(repo, "checkout", "-q", "--orphan", "fresh")
    commit(repo, 4)
    assert look(repo, baseline, require_new_commit=True).status is PASS


def test_a_new_commit_needs_a_baseline_and_a_repository_made_later_is_new(repo: Path) -> None:
    assert look(repo, None, require_new_commit=True).status is ERROR
    assert look(repo, Baseline(), require_new_commit=True).status is ERROR
    assert look(repo, Baseline(commits={"repo@HEAD": None}), require_new_commit=True).status is PASS


@pytest.mark.parametrize("place", ["nothing", "../outside", "/etc", "plain"])
def test_what_is_no_repository_of_the_agent_fails(repo: Path, place: str) -> None:
    (repo.parent / "plain").mkdir()
    git(repo.parent.parent, "init", "-q", "outside")
    assert look(repo, repo_path=place).status is FAIL


def test_a_hostile_repository_runs_nothing(repo: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "diff.external",
        "diff.x.textconv",
        "filter.x.smudge",
        "filter.x.clean",
        "gpg.program",
        "credential.helper",
        "alias.rev-parse",
        "alias.cat-file",
        "uploadpack.packObjectsHook",
        "remote.origin.uploadpack",
    ):
        git(repo, "config", key, str(script))
    git(repo, "config", "core.hooksPath", str(tmp_path))
    (repo / ".gitattributes").write_text("* filter=x diff=x\n")
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "reference-transaction", "pre-commit", "fsmonitor-watchman"):
        (hooks / hook).write_text(script.read_text())
        (hooks / hook).chmod(0o755)
    baseline = Baseline(commits={"repo@HEAD": "0" * 40})
    assert look(repo, baseline, **REPLICAS, value=1, require_new_commit=True).status is PASS
    assert not mark.exists()


def test_a_missing_object_is_not_fetched_from_a_promisor(repo: Path, tmp_path: Path) -> None:
    mark = tmp_path / "fetched"
    git(repo, "config", "core.repositoryformatversion", "1")
    git(repo, "config", "extensions.partialClone", "origin")
    git(repo, "config", "remote.origin.url", f"ext::sh -c 'touch {mark}'")
    git(repo, "config", "protocol.ext.allow", "always")
    blob = git(repo, "rev-parse", "HEAD:app.yaml")
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert look(repo, **REPLICAS, value=1).status is FAIL
    assert not mark.exists()


def test_links_alternates_and_pipes_in_a_repository_are_refused(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    git(outside, "init", "-q", "-b", "main")
    answer = commit(outside, 7)
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    alternates = repo / ".git/objects/info/alternates"
    alternates.write_text(f"{outside}/.git/objects\n")
    (repo / ".git/refs/heads/main").write_text(answer + "\n")
    assert look(repo, **REPLICAS, value=7).status is FAIL
    alternates.unlink()
    os.mkfifo(repo / ".git/refs/heads/pipe")
    assert look(repo, ref="pipe").status is FAIL
    (repo / ".git/refs/heads/pipe").unlink()
    (repo / ".git/objects/zz").symlink_to(outside)
    assert look(repo).status is FAIL
    (repo.parent / "linked").symlink_to(outside)
    assert look(repo, repo_path="linked").status is FAIL
    (repo.parent / "pointer").mkdir()
    (repo.parent / "pointer/.git").write_text(f"gitdir: {outside}/.git\n")
    assert look(repo, repo_path="pointer").status is FAIL


@pytest.mark.parametrize("ref", ["--output=/tmp/x", "-h", "HEAD~99", "HEAD^{tree}", "@{-1}", ":/x", ""])
def test_a_ref_is_never_an_option(repo: Path, ref: str) -> None:
    assert look(repo, ref=ref).status is FAIL


def test_a_broken_yaml_in_a_commit_is_the_agents_failure(repo: Path) -> None:
    (repo / "app.yaml").write_text("a: [")
    git(repo, "commit", "-qam", "broken")
    assert look(repo, **REPLICAS, value=1).status is FAIL


def test_without_git_it_is_an_error(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from devops_bench.verification.checks import git as module

    monkeypatch.setitem(module._ENV, "PATH", "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert look(repo).status is ERROR
