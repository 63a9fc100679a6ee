"""Names that must never clash: run ids, cluster tokens and names, stamps, attempt folders.

A run id is `<task>__<model>__<preset>[__r<i>]`, a pure and injective function of its four parts that is safe as a file
name on any file system, case-insensitive ones included. Each part is encoded by itself:

* lower-case letters, digits and `. _ + - @` stay (`gemini-3.1-pro`, `oc+mcp+skills`); `:` becomes `~`, `/` becomes `,`
  (`qwen3:8b` -> `qwen3~8b`). This form can be read back, so no two parts share it.
* anything else (capitals, other characters, `__`, `..`, an odd first or last character, too long) gets a readable slug
  and `=` plus 60 bits of the part's SHA-256. `=` is in no plain form, so the two never meet.

The same id always has the same cluster token; two ids may share one (28 bits): expansion reports it and the token's
lock serialises the two. Nothing is ever salted.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.paths import DIR_MODE, private_dir

RID_MAX = 200  # bytes; `run_<15 characters>_` in front still fits the 255 of common file systems
CLUSTER_NAME_MAX = 40
TOKEN_PATTERN = re.compile(r"c[0-9a-f]{7}")
ATTEMPT_PATTERN = re.compile(r"run_\d{8}_\d{6}(_.+)?")
STAMP_PATTERN = re.compile(r"\d{8}_\d{6}-[a-z0-9]+")
REPEAT_MAX = 999_999

# Byte limits of the encoded parts: 80 + 70 + 30, two separators of 2 and `__r999999` stay below RID_MAX.
_TASK_MAX, _MODEL_MAX, _PRESET_MAX = 80, 70, 30
_DIGEST_CHARS = 12  # base32: 60 bits
_SWAP = str.maketrans({":": "~", "/": ","})
_UNSWAP = str.maketrans({"~": ":", ",": "/"})
# First a letter or digit; last not `.` or `_` (a `_` would run into the separator); no `__`, no `..`; ASCII only.
_PLAIN = re.compile(r"(?!.*(?:__|\.\.))[a-z0-9](?:[a-z0-9._+@:/-]*[a-z0-9+@-])?", re.ASCII)
_UNSAFE = re.compile(r"[^a-z0-9.+@~,-]+")


@lru_cache(maxsize=4096)
def _encode(part: str, limit: int) -> str:
    if len(part) <= limit and _PLAIN.fullmatch(part):
        return part.translate(_SWAP)
    digest = base64.b32encode(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest()).decode().lower()
    slug = _UNSAFE.sub("-", part.lower().translate(_SWAP))
    slug = re.sub(r"\.{2,}", ".", slug).lstrip(".-+@~,")[: limit - _DIGEST_CHARS - 1].rstrip(".-")
    return f"{slug or 'x'}={digest[:_DIGEST_CHARS]}"


def rid(task: str, model: str, preset: str, repeat: int = 0) -> str:
    """The run id of one combo: at most 200 ASCII bytes. `repeat` counts from 0; repeat 0 has no suffix.

    Raises ValueError when `repeat` is out of range.
    """
    if not 0 <= repeat <= REPEAT_MAX:
        raise ValueError(f"repeat {repeat} is not within 0..{REPEAT_MAX}")
    parts = (_encode(task, _TASK_MAX), _encode(model, _MODEL_MAX), _encode(preset, _PRESET_MAX))
    return "__".join(parts) + (f"__r{repeat}" if repeat else "")


def parts(run_id: str) -> tuple[str, str, str, int]:
    """Read an id back: (task, model, preset, repeat). A part holding `=` was shortened and comes back as it stands."""
    task, model, preset, *rest = run_id.split("__")
    plain = [part if "=" in part else part.translate(_UNSWAP) for part in (task, model, preset)]
    return plain[0], plain[1], plain[2], int(rest[0][1:]) if rest else 0


def token(run_id: str) -> str:
    """The cluster token of a run id: `c` + 7 hex digits. Short enough to survive names cut at 10 characters."""
    return "c" + hashlib.sha256(run_id.encode()).hexdigest()[:7]


def cluster_name(run_token: str, base: str) -> str:
    """`<token>-<base>`: a DNS label of at most 40 characters without a trailing dash, whatever `base` holds."""
    clean = re.sub(r"[^a-z0-9]+", "-", base.lower()).strip("-")
    return f"{run_token}-{clean}"[:CLUSTER_NAME_MAX].rstrip("-")


def new_stamp(now: datetime | None = None) -> str:
    """A new run's stamp: `YYYYmmdd_HHMMSS-<8 random characters>` in UTC, sortable by time."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    unique = base64.b32encode(secrets.token_bytes(5)).decode().lower()
    return f"{moment:%Y%m%d_%H%M%S}-{unique}"


def reserve_run_dir(root: Path, now: datetime | None = None) -> Path:
    """Make and return a run folder of its own below `root`, as an absolute path; its name is the stamp.

    The exclusive mkdir decides between launches: no two ever hold one stamp. Raises ConfigError when the root cannot be
    used.
    """
    try:
        private_dir(root)
        while True:
            folder = root.absolute() / new_stamp(now)
            try:
                folder.mkdir(mode=DIR_MODE)
            except FileExistsError:
                continue
            folder.chmod(DIR_MODE)
            return folder
    except OSError as error:
        raise ConfigError(
            f"the runs root cannot be used: {os.strerror(error.errno or 0)}", where=root, fix="set DEVOPS_BENCH_RUNS"
        ) from None


def attempt_name(run_id: str, now: datetime) -> str:
    """`run_<YYYYmmdd_HHMMSS>_<rid>`, in UTC: the attempt's folder and its rows' `runId`."""
    return f"run_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{run_id}"


def reserve_attempt_dir(rid_dir: Path, run_id: str, now: datetime | None = None) -> Path:
    """Make and return the folder of a new attempt; when this second is taken, the next free one. Raises OSError."""
    moment = now or datetime.now(UTC)
    while True:
        folder = rid_dir / attempt_name(run_id, moment)
        try:
            folder.mkdir(mode=DIR_MODE)
        except FileExistsError:
            moment += timedelta(seconds=1)
            continue
        folder.chmod(DIR_MODE)
        return folder
