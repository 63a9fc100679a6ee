"""`git_repo_sync`: a field of a file at a ref of a repository that the agent works in.

The repository is hostile: its config, hooks, attributes, alternates and links belong to the agent. Only plumbing that
runs nothing is used (`rev-parse`, `merge-base`, `cat-file`), with every configuration outside the repository switched
off, no transport allowed, and the repository's folders confined to the agent's own.
"""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from devops_bench.kube import Deadline
from devops_bench.tasks.checks import GitRepoSync
from devops_bench.verification import structured
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.matching import Document, Expectation, judge
from devops_bench.verification.scope import CannotEvaluate, Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed

_TIMEOUT = 20.0  # seconds for one git call; reading one object takes milliseconds
_MOST_BYTES = 4 << 20
_MOST_FILES = 100_000


class BadRepository(ValueError):
    """What the agent left is not a repository that can be read; the check fails."""


class GitBroke(Exception):
    """git itself could not be run; the check is an error."""


def git_repo_sync(check: GitRepoSync, scope: Scope) -> Verdict:
    """Without `file` the ref's existence (and newness) is all that is asked."""
    want = Expectation(check.path, check.op, check.value, check.across_matches)
    try:
        repo = locate(scope.context, check.repo_path)
        sha = head(repo, check.ref, scope.deadline)
        if sha is None:
            return failed(f"{check.repo_path} has no commit at {check.ref}")
        if check.require_new_commit and (verdict := _stale(check, scope, repo, sha)):
            return verdict
        if check.file is None:
            return passed(f"{check.ref} is at {sha[:12]}")
        blob = _git(repo, ["cat-file", "blob", f"{sha}:{check.file}"], scope.deadline)
        if blob is None:
            return judge([], want, f"no file {check.file} at {check.ref} ({sha[:12]})")
        text = blob.decode(errors="replace")
        if check.path is None:
            return judge([Document(check.file, text.removesuffix("\n"))], want, "")
        parts = structured.parse(text, check.file)
    except (BadRepository, structured.Unreadable) as error:
        return failed(str(error))
    except GitBroke as error:
        return errored(str(error))
    several = len(parts) > 1
    found = [Document(f"{check.file}#{n}" if several else check.file, part) for n, part in enumerate(parts)]
    return judge(found, want, f"{check.file} is empty at {check.ref}")


def _stale(check: GitRepoSync, scope: Scope, repo: Repository, sha: str) -> Verdict | None:
    """A verdict when the commit is not a new one; None when it is."""
    baseline = scope.context.baseline
    if baseline is None or not baseline.knows_repo(check.repo_path, check.ref):
        return errored(f"no baseline of {check.repo_path}: cannot tell a new commit")
    old = baseline.commit(check.repo_path, check.ref)
    if old is None:
        return None
    if old == sha or _git(repo, ["merge-base", "--is-ancestor", sha, old], scope.deadline) is not None:
        return failed(f"{check.ref} has no new commit since setup ({sha[:12]})")
    return None


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository's git folder, known to lie inside the agent's folders."""

    folder: Path


def locate(context: VerifyContext, repo_path: str) -> Repository:
    """Find and vet the repository: `~/x` in the home, `/x` as it is, `x` in the workspace, else in the home.

    Raises BadRepository for anything that is no repository or leads out of the agent's folders.
    """
    roots = [root.resolve() for root in (context.workspace, context.home) if root is not None and root.is_dir()]
    if not roots:
        raise CannotEvaluate("this combo has no workspace")
    if repo_path == "~" or repo_path.startswith("~/"):
        home = context.home
        if home is None:
            raise CannotEvaluate("this combo has no agent home")
        candidates = [home / repo_path[2:]]
    else:
        candidates = [root / repo_path for root in roots]
    place = next((path for path in candidates if path.exists()), None)
    if place is None:
        raise BadRepository(f"{repo_path} does not exist")
    top = _inside(place, roots, repo_path)
    dot_git = top / ".git"
    if dot_git.is_file() and not dot_git.is_symlink():
        line = dot_git.read_bytes()[:4096].decode(errors="replace").strip()
        if not line.startswith("gitdir: "):
            raise BadRepository(f"{repo_path}/.git is not a repository")
        folder = _inside(top / line.removeprefix("gitdir: "), roots, repo_path)
    else:
        folder = _inside(dot_git, roots, repo_path) if dot_git.is_dir() else top
    _vet(folder, roots, repo_path)
    return Repository(folder)


def _inside(path: Path, roots: list[Path], said: str) -> Path:
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise BadRepository(f"{said} does not exist") from None
    if not any(real.is_relative_to(root) for root in roots):
        raise BadRepository(f"{said} leads out of the agent's folders")
    return real


def _vet(folder: Path, roots: list[Path], said: str) -> None:
    """Refuse what would make git read elsewhere or wait for ever: outer links, alternates, FIFOs."""
    if not (folder / "HEAD").is_file() or not (folder / "objects").is_dir():
        raise BadRepository(f"{said} is not a git repository")
    if (folder / "commondir").exists():
        raise BadRepository(f"{said} is a linked worktree; name the repository itself")
    seen = 0
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            part = Path(here, name)
            mode = part.lstat().st_mode
            seen += 1
            if seen > _MOST_FILES:
                raise BadRepository(f"{said} has more than {_MOST_FILES} files")
            if stat.S_ISLNK(mode):
                _inside(part, roots, said)
            elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise BadRepository(f"{said}: {name} is not a plain file")
    for name in ("objects/info/alternates", "objects/info/http-alternates"):
        if os.path.lexists(folder / name):
            raise BadRepository(f"{said} borrows objects from another repository")


def head(repo: Repository, ref: str, deadline: Deadline) -> str | None:
    """The commit id at `ref`, None when there is none."""
    said = _git(repo, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"], deadline)
    return said.decode().strip() if said else None


def _git(repo: Repository, argv: list[str], deadline: Deadline) -> bytes | None:
    """Stdout of a plumbing command, None when it says no. Raises GitBroke, BadRepository (too much output)."""
    seconds = min(_TIMEOUT, deadline.remaining())
    if seconds <= 0:
        raise GitBroke("no time was left for git")
    command = ["git", "--no-pager", "--no-replace-objects", "--literal-pathspecs", f"--git-dir={repo.folder}"]
    for setting in ("core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never", "safe.directory=*"):
        command += ["-c", setting]
    try:
        with subprocess.Popen(
            [*command, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENV,
            cwd="/",
        ) as process:
            try:
                return _outcome(process, Deadline.after(seconds))
            finally:
                process.kill()
    except OSError as error:
        raise GitBroke(f"git cannot be run: {error.strerror}") from None


def _outcome(process: subprocess.Popen[bytes], deadline: Deadline) -> bytes | None:
    import select

    assert process.stdout is not None
    text = bytearray()
    while True:
        if not select.select([process.stdout], [], [], deadline.remaining())[0]:
            raise GitBroke("git did not end in time")
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            break
        text += chunk
        if len(text) > _MOST_BYTES:
            raise BadRepository(f"the file is larger than {_MOST_BYTES >> 20} MiB")
    try:
        code = process.wait(timeout=deadline.remaining() + 0.1)
    except subprocess.TimeoutExpired:
        raise GitBroke("git did not end in time") from None
    return bytes(text) if code == 0 else None


_ENV = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}
