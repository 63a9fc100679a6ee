"""The checkout that the program runs from, and the worktree in which a run repairs it. Git by argument lists only."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import ConfigError, HarnessError
from devops_bench.paths import private_dir
from devops_bench.supervisor.healing.goalposts import Change

GIT_SEC = 120.0
NAME = ("-c", "user.name=devops-bench", "-c", "user.email=devops-bench@localhost", "-c", "core.hooksPath=/dev/null")


def git(folder: Path, *args: str) -> str:
    """Run git in `folder`; its standard output. Raises HarnessError with git's last words."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *NAME, "-C", str(folder), *args],
            capture_output=True,
            timeout=GIT_SEC,
            stdin=subprocess.DEVNULL,
            check=False,
            env=kept,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"git {args[0]} did not run: {error}", where=folder) from None
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())[-300:]
        raise HarnessError(f"git {args[0]}: {said or done.returncode}", where=folder)
    return done.stdout.decode(errors="surrogateescape")


def checkout() -> Path:
    """The git checkout of the running program. Raises ConfigError when there is none, or when it has changes."""
    root = Path(__file__).resolve().parents[4]
    if not (root / ".git").exists() or not (root / "src" / "devops_bench").is_dir():
        raise ConfigError("--unlimited needs the program to run from a git checkout", fix="clone it, install with -e")
    if git(root, "status", "--porcelain", "--untracked-files=no").strip():
        raise ConfigError("the checkout has uncommitted changes", where=root, fix="commit or stash them first")
    return root


def head(folder: Path) -> str:
    """The commit that `folder` stands at."""
    return git(folder, "rev-parse", "HEAD").strip()


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree at `folder` on a branch of its own; `root` is the checkout that it belongs to."""

    root: Path
    folder: Path

    @classmethod
    def open(cls, root: Path, folder: Path, stamp: str, base: str) -> Worktree:
        """Make it at commit `base`, or put the one that is there back to it: a repair that was killed left anything."""
        if not (folder / ".git").exists():
            private_dir(folder.parent)
            git(root, "worktree", "add", "-B", f"bench-fix/{stamp}", str(folder), base)
        tree = cls(root, folder)
        tree.back_to(base)
        return tree

    def stage(self, base: str) -> tuple[Change, ...]:
        """Everything that differs from `base`, staged, also what the fixer committed itself."""
        git(self.folder, "reset", "--soft", base)
        git(self.folder, "add", "--all")
        # What git ignores is no part of a fix, and must not act as one either.
        git(self.folder, "clean", "-fdqx")
        raw = git(self.folder, "diff", "--cached", "--raw", "--no-renames", "-z", base).split("\0")
        return tuple(
            Change(kind=head.rsplit(" ", 1)[1][:1], path=path, link=head.split(" ")[1] == "120000")
            for head, path in zip(raw[::2], raw[1::2], strict=False)
            if head
        )

    def clean(self) -> None:
        """Drop what is not staged: what checks wrote."""
        git(self.folder, "checkout-index", "--all", "--force")
        git(self.folder, "clean", "-fdqx")

    def save(self, subject: str, body: str) -> str:
        """Commit what is staged; the new commit."""
        git(self.folder, "commit", "--quiet", "--no-verify", "-m", subject, "-m", body)
        return head(self.folder)

    def back_to(self, base: str) -> None:
        """Throw everything that `base` does not have away."""
        git(self.folder, "reset", "--hard", "--quiet", base)
        git(self.folder, "clean", "-fdqx")
