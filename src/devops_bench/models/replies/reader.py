"""Reads one reply of any wire format, portion by portion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from devops_bench.models.replies import anthropic, google, openai_chat, openai_responses
from devops_bench.models.replies.draft import Draft, Heard, parsed
from devops_bench.models.replies.events import EventSplitter

# Bytes of a reply that is not a stream of events.
MAX_WHOLE: Final = 64 << 20


class Listener(Protocol):
    """What a member module offers: fold one JSON object into the draft."""

    def whole(self, draft: Draft, reply: Mapping[str, Any]) -> None: ...
    def event(self, draft: Draft, event: Mapping[str, Any]) -> None: ...


LISTENERS: Mapping[str, Listener] = {
    "google": google,
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}


class ReplyReader:
    """One reply on `wire`; `events`: it comes as server-sent events, else as one JSON text."""

    def __init__(self, wire: str, *, events: bool) -> None:
        self._listener = LISTENERS[wire]
        self._draft = Draft()
        self._splitter = EventSplitter() if events else None
        self._whole = bytearray()
        self._final = False
        self._good = False
        self._bad = False

    def feed(self, portion: bytes) -> None:
        """More bytes of the body."""
        if self._splitter is not None:
            for data in self._splitter.feed(portion):
                self._event(data)
        elif len(self._whole) + len(portion) <= MAX_WHOLE:
            self._whole += portion
        else:
            self._bad = True

    def finish(self) -> Heard:
        """No more will come."""
        if not self._final:
            self._final = True
            if self._splitter is not None:
                for data in self._splitter.rest():
                    self._event(data)
            else:
                self._read_whole()
        return self.heard()

    def heard(self) -> Heard:
        """What is known now."""
        return self._draft.heard(final=self._final, readable=self._good or not self._bad)

    def _event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            return
        found = parsed(data)
        if isinstance(found, Mapping):
            self._fold(self._listener.event, found)
        else:
            self._bad = True

    def _read_whole(self) -> None:
        found = parsed(bytes(self._whole))
        self._whole.clear()
        # Google streams a JSON array of responses where no events were asked for.
        if isinstance(found, list) and found and all(isinstance(item, Mapping) for item in found):
            for item in found:
                self._fold(self._listener.event, item)
        elif isinstance(found, Mapping):
            self._fold(self._listener.whole, found)
            draft = self._draft
            # A whole text cannot be cut: with content it is a reply, without any sign of one it is something else.
            draft.done = draft.done or not draft.empty
            if not draft.done and not draft.error:
                self._good, self._bad = False, True
        else:
            self._bad = True

    def _fold(self, fold: Any, found: Mapping[str, Any]) -> None:
        try:
            fold(self._draft, found)
            self._good = True
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            self._bad = True
