"""The server reads what clients really send, and survives what they should not."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys

import httpx
import pytest

from devops_bench.models.scenario import scenario
from devops_bench.models.server import ScriptedServer

ASK = {"model": "p", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def server():
    with ScriptedServer({"p": scenario("p", {"turns": ["hello"]})}) as one:
        yield one


def raw(server: ScriptedServer, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        got = b""
        while part := sock.recv(65536):
            got += part
    return got


def test_one_connection_serves_many_requests(server: ScriptedServer) -> None:
    with httpx.Client(base_url=server.url, timeout=20) as client:
        for _ in range(3):
            assert client.post("/v1/chat/completions", json=ASK).json()["choices"][0]["message"]["content"] == "hello"


def test_chunked_and_compressed_bodies_are_read(server: ScriptedServer) -> None:
    body = json.dumps(ASK).encode()
    with httpx.Client(base_url=server.url, timeout=20) as client:
        chunked = client.post("/v1/chat/completions", content=iter([body[:5], body[5:]]))
        packed = client.post("/v1/chat/completions", content=gzip.compress(body), headers={"Content-Encoding": "gzip"})
        expecting = client.post("/v1/chat/completions", content=body, headers={"Expect": "100-continue"})
    assert [one.status_code for one in (chunked, packed, expecting)] == [200, 200, 200]
    assert json.loads(server.requests[1].body) == ASK


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\nab",
        b"POST /v1/messages HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n{]",
        b"POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]",
        b'POST /v1/messages HTTP/1.1\r\nContent-Length: 16\r\n\r\n{"messages":"x"}',
    ],
)
def test_what_cannot_be_read_is_a_400_and_the_server_lives_on(server: ScriptedServer, data: bytes) -> None:
    assert raw(server, data).startswith(b"HTTP/1.1 400 ")
    assert httpx.post(f"{server.url}/v1/chat/completions", json=ASK, timeout=20).status_code == 200


def test_an_unknown_path_is_a_404(server: ScriptedServer) -> None:
    assert httpx.get(f"{server.url}/v2/else", timeout=20).status_code == 404
    assert httpx.post(f"{server.url}/s/nobody/v1/messages", json=ASK, timeout=20).status_code == 404


def test_only_loopback_is_served_and_the_port_is_freed(server: ScriptedServer) -> None:
    port = server.port
    assert server.url == f"http://127.0.0.1:{port}"
    server.close()
    with ScriptedServer({"p": scenario("p", {"turns": ["x"]})}, port=port) as again:
        assert httpx.post(f"{again.url}/v1/chat/completions", json=ASK, timeout=20).status_code == 200


def test_a_taken_port_is_a_configuration_error(server: ScriptedServer) -> None:
    from devops_bench.errors import ConfigError

    with pytest.raises(ConfigError, match="cannot listen"):
        ScriptedServer({"p": scenario("p", {"turns": ["x"]})}, port=server.port)


def test_the_record_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from devops_bench.models import record

    monkeypatch.setattr(record, "MAX_REQUESTS", 3)
    monkeypatch.setattr(record, "MAX_BYTES", 50)
    log = record.Log()
    for number in range(10):
        log.add(record.Recorded(float(number), "POST", "/", {}, "x" * 20))
    assert [one.time for one in log.all()] == [8.0, 9.0] and log.dropped == 8


def test_serving_needs_no_heavy_import() -> None:
    program = "import sys; import devops_bench.models.server; print(sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"asyncio", "starlette", "httpx", "openai", "anthropic", "google", "pydantic_ai", "email", "genai_prices"}
    loaded = set(eval(done.stdout))
    assert not heavy - {"email", "asyncio"} & loaded
