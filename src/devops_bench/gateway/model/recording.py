"""The gateway's evidence: requests and replies as JSON lines, redacted, within bounds."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devops_bench import settings
from devops_bench.redact import Redactor


class Recording:
    """Appends to `path` (0600; a new file). None: records nothing. For any thread.

    One line a request and one a reply: `number`, `time`, `event` (request, reply), figures, `body` as text, `size` in
    bytes and `truncated`. Bodies are cut to `model_record_body`; beyond `model_record` bytes they are left out, and at
    twice that lines too. A disk that is full ends the recording, not the run: `problem` then says so.
    """

    def __init__(self, path: Path | None, redactor: Redactor) -> None:
        self._redactor = redactor
        self._own = Redactor(shapes=False)
        self._lock = threading.Lock()
        self._room = settings.integer("model_record")
        self._lines_room = 2 * self._room
        self.body_room = settings.integer("model_record_body")
        self.problem = ""
        self._fd = -1
        if path is not None:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def hide(self, secrets: Mapping[str, str]) -> None:
        """More values that must not be in the record."""
        self._own = Redactor(secrets, least=1, shapes=False)

    def write(self, fields: Mapping[str, Any], body: bytes, size: int) -> None:
        """One line with (the beginning of) a body of `size` bytes."""
        if self._fd < 0:
            return
        kept = body[: self.body_room] if self._room > 0 else b""
        whole = len(kept) == size
        body_text = _redacted(self._redactor, _redacted(self._own, kept, whole), whole).decode("utf-8", "replace")
        told = json.dumps({**fields, "size": size, "truncated": not whole}, ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        # Redacted as one text and put together by hand: one scan instead of one a field.
        told = self._redactor.data(self._own.data(told))
        data = told[:-1] + b', "body": ' + json.dumps(body_text, ensure_ascii=False).encode("utf-8", "replace") + b"}\n"
        with self._lock:
            if self._fd < 0 or self._lines_room < len(data):
                return
            self._room -= len(kept)
            self._lines_room -= len(data)
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError as error:
                self.problem = f"the record of model requests ends here: {error.strerror}"
                self._shut()

    def close(self) -> None:
        """No more lines."""
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _redacted(redactor: Redactor, data: bytes, whole: bool) -> bytes:
    """Without secrets; of data that was cut, also without the half of one that may stand at its end."""
    return redactor.data(data) if whole else redactor.stream().feed(data)
