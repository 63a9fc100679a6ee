"""Requests that generate nothing (lists of models, token counts): passed on, recorded, not counted."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from devops_bench.gateway.model import endings
from devops_bench.gateway.model.headers import to_client
from devops_bench.gateway.model.upstream import Asked, UpstreamError
from devops_bench.gateway.model.watch import ClientGone, Watch
from devops_bench.models.http import Connection
from devops_bench.models.record import without_keys

if TYPE_CHECKING:
    from devops_bench.gateway.model.gateway import ModelGateway

_MOST = 8 << 20


def relay(gateway: ModelGateway, connection: Connection, asked: Asked) -> None:
    """One such request. A provider that fails here ends nothing: it will fail at the next real request, too."""
    watch = Watch(connection, gateway.patience.idle, gateway.patience.connect)
    try:
        with contextlib.closing(gateway.upstream.open(asked, watch)) as incoming:
            whole = bytearray()
            for portion in incoming.chunks():
                whole += portion
                if len(whole) > _MOST:
                    raise UpstreamError("garbage", "the reply is too large")
            guard = gateway.guard()
            body = guard.data(bytes(whole))
            status, fields = incoming.status, to_client(incoming.fields, guard)
    except UpstreamError as error:
        status, fields, body = endings.reply(gateway.wire, 502, str(error))
    except ClientGone:
        connection.keep = False
        return
    connection.send_fields(status, fields, body)
    request = asked.request
    told = {
        "event": "other", "time": time.time(), "method": request.method, "path": request.path, "status": status,
        "headers": without_keys(request.headers),
    }  # fmt: skip
    gateway.recording.write(told, request.body, len(request.body))
