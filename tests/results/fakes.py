"""A redactor small enough to be read at a glance, with the interface of the real one, for tests of the writers."""

from __future__ import annotations

from typing import Any


class PlainRedactor:
    """Replaces one value by its name; its stream keeps back what could be the start of the value."""

    def __init__(self, secret: str = "hunter2-hunter2", name: str = "[KEY]") -> None:
        self.secret, self.name = secret, name

    def obj(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(self.secret, self.name)
        if isinstance(value, dict):
            return {self.obj(key): self.obj(item) for key, item in value.items()}
        return [self.obj(item) for item in value] if isinstance(value, list) else value

    def stream(self) -> PlainStream:
        return PlainStream(self.secret.encode(), self.name.encode())


class PlainStream:
    def __init__(self, secret: bytes, name: bytes) -> None:
        self.secret, self.name, self.kept = secret, name, b""

    def feed(self, data: bytes) -> bytes:
        text = (self.kept + data).replace(self.secret, self.name)
        keep = min(len(text), len(self.secret) - 1)
        self.kept = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> bytes:
        out, self.kept = self.kept, b""
        return out
