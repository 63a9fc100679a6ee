"""What an API server can answer, as exceptions. All are TransientError: uncaught, they make an attempt invalid.

`status` is the HTTP code (0 when there was no answer), `reason` the Status object's reason word. The message names the
request, so that a log line can be understood alone.
"""

from __future__ import annotations

from typing import Any

from devops_bench.errors import TransientError

_LONGEST = 600


class KubeError(TransientError):
    """Any failed request."""

    def __init__(
        self, what: str, *, status: int = 0, reason: str = "", text: str = "", delay: float = 0.0, fix: str = ""
    ) -> None:
        self.status = status
        self.reason = reason
        self.text = text
        super().__init__(what, delay=delay, fix=fix)


class KubeUnavailable(KubeError):
    """No usable answer: refused, timed out, cut off, unreadable, 429 or 5xx."""


class KubeNotFound(KubeError):
    """404: the object (or its namespace) does not exist."""


class KubeUnknownKind(KubeNotFound):
    """The API server answered and serves no such kind."""


class KubeForbidden(KubeError):
    """401 or 403 by authentication or RBAC: this identity may not ask."""


class KubeDenied(KubeError):
    """403 or 422 by admission: the request was understood and refused by policy, quota or pod security."""


class KubeInvalid(KubeError):
    """400 or 422 by validation: the object itself is malformed."""


class KubeConflict(KubeError):
    """409: it exists already, or changed meanwhile."""


class KubeGone(KubeError):
    """410: the resource version or continue token is too old; list again."""


_ADMISSION_WORDS = (
    "admission webhook",
    "ValidatingAdmissionPolicy",
    "MutatingAdmissionPolicy",
    "violates PodSecurity",
    "exceeded quota",
    "failed quota",
    "is forbidden: maximum ",
    "is forbidden: minimum ",
    "is forbidden: [maximum ",
    "is forbidden: [minimum ",
)


def from_status(request: str, status: int, body: Any, retry_after: float = 0.0) -> KubeError:
    """The exception for an HTTP error `status` with a decoded (or raw text) `body`.

    A 403 is RBAC's when its text says what the user "cannot" do; any other 403 on a write came from admission.
    """
    reason, text = "", ""
    if isinstance(body, dict):
        reason, text = str(body.get("reason") or ""), str(body.get("message") or "")
    elif isinstance(body, str):
        text = body
    text = " ".join(text.split())[:_LONGEST]
    what = f"{request}: {status} {reason or 'error'}" + (f": {text}" if text else "")

    def make(kind: type[KubeError]) -> KubeError:
        return kind(what, status=status, reason=reason, text=text, delay=retry_after)

    if status == 404:
        return make(KubeNotFound)
    if status == 401:
        return make(KubeForbidden)
    admission = any(word in text for word in _ADMISSION_WORDS)
    if status == 403:
        return make(KubeForbidden if _by_rbac(text) and not admission else KubeDenied)
    if status in {400, 422}:
        return make(KubeDenied if admission else KubeInvalid)
    if status == 409:
        return make(KubeConflict)
    if status == 410:
        return make(KubeGone)
    if status == 429 or status >= 500:
        return make(KubeUnavailable)
    return make(KubeError)


def _by_rbac(text: str) -> bool:
    return not text or ('User "' in text and "cannot " in text)
