"""Vertex AI with ambient credentials, against a token endpoint and a metadata server on loopback (simulated cloud)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from devops_bench.errors import ConfigError, TransientError
from devops_bench.gateway.model import Forward, ModelGateway, Patience
from devops_bench.gateway.model.adc import ambient
from devops_bench.models import providers
from devops_bench.models.http import Connection, Request
from devops_bench.models.scenario import scenario
from devops_bench.models.server import ScriptedServer
from tests.models.clients import CLIENTS

from .provider import Provider, wait_for

TOKEN = "ya29.ambient-token-0123456789"
VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "proj-1", "GOOGLE_CLOUD_LOCATION": "global"}
PLAYER = {"turns": [{"text": "I look.", "shell": "date"}, "It was {{last_result}}."]}


class Google:
    """A token endpoint, a metadata server and Vertex: what they got, and what they say."""

    def __init__(self, lasts: float = 3600, refuse: bool = False) -> None:
        self.lasts = lasts
        self.refuse = refuse
        self.grants: list[dict[str, list[str]]] = []
        self.asked: list[Request] = []
        self.player = ScriptedServer({"m": scenario("m", {**PLAYER, "model": ["gemini-9", "claude-9@20990101"]})})
        self.provider = Provider(self._handle)

    def __enter__(self) -> Google:
        return self

    def __exit__(self, *_: object) -> None:
        self.provider.__exit__()
        self.player.close()

    @property
    def url(self) -> str:
        return self.provider.url

    def _handle(self, connection: Connection, request: Request) -> None:
        if request.path == "/token":
            self.grants.append(parse_qs(request.body.decode()))
            return self._grant(connection)
        if request.path.startswith("/computeMetadata/v1/"):
            if request.headers.get("metadata-flavor") != "Google":
                return connection.send(403, b"{}")
            if request.path.endswith("/project/project-id"):
                return connection.send(200, b"machine-project", "text/plain", {"Metadata-Flavor": "Google"})
            self.grants.append({"metadata": [request.path]})
            return self._grant(connection)
        self.asked.append(request)
        if request.headers.get("authorization") != f"Bearer {TOKEN}{len(self.grants)}":
            return connection.send(401, b'{"error":{"message":"who is this?"}}')
        return self._play(connection, request)

    def _grant(self, connection: Connection) -> None:
        if self.refuse:
            error = {"error": "invalid_grant", "error_description": "Token has been revoked."}
            return connection.send(400, json.dumps(error).encode())
        token = {"access_token": f"{TOKEN}{len(self.grants)}", "expires_in": self.lasts, "token_type": "Bearer"}
        return connection.send(200, json.dumps(token).encode())

    def _play(self, connection: Connection, request: Request) -> None:
        """As the scripted model answers to the same body at the vendor's own path."""
        path = request.path
        body = json.loads(request.body)
        if "/publishers/anthropic/" in path:
            model, _, method = path.rpartition("/")[2].partition(":")
            assert body.pop("anthropic_version") == "vertex-2023-10-16"
            assert "model" not in body and ("stream" in body) == (method == "streamRawPredict")
            path, body = "/v1/messages", {"model": model, **body}
        query = "?alt=sse" if request.query.get("alt") == "sse" else ""
        with httpx.stream("POST", f"{self.player.url}{path}{query}", json=body, timeout=30) as reply:
            connection.begin_fields(reply.status_code, [("Content-Type", reply.headers["content-type"])])
            for portion in reply.iter_raw():
                connection.chunk(portion)
            connection.end()


def gateway(google: Google, env: dict[str, str], model: str = "gemini-9", wire: str = "google") -> ModelGateway:
    env = {**VERTEX, "GOOGLE_VERTEX_BASE_URL": google.url, "HOME": "/nonexistent", **env}
    resolved = providers.resolve(model, "vertex" if wire == "anthropic" else None, env)
    assert resolved.provider == "vertex" and resolved.key is None
    return ModelGateway(Forward(resolved, env=env), wire=wire, model=model, patience=Patience(idle=30))


def user_file(folder: Path, google: Google, **more: Any) -> dict[str, str]:
    file = folder / "adc.json"
    info = {
        "type": "authorized_user", "client_id": "id", "client_secret": "client-secret-1",
        "refresh_token": "refresh-token-1", "token_uri": f"{google.url}/token", **more,
    }  # fmt: skip
    file.write_text(json.dumps(info))
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_client_of_the_gemini_api_reaches_vertex_by_ambient_credentials(stream: bool, tmp_path: Path) -> None:
    with Google() as google, gateway(google, user_file(tmp_path, google)) as one:
        with CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            _, last = client.play("go", stream, [["noon"]])
        assert last.text == "It was noon." and [e.text for e in one.exchanges()] == ["I look.", "It was noon."]
        method = "streamGenerateContent" if stream else "generateContent"
        path = f"/v1/projects/proj-1/locations/global/publishers/google/models/gemini-9:{method}"
        assert {request.path for request in google.asked} == {path}
        assert google.grants == [
            {"grant_type": ["refresh_token"], "client_id": ["id"], "client_secret": ["client-secret-1"],
             "refresh_token": ["refresh-token-1"]}
        ]  # fmt: skip
        for request in google.asked:
            assert "x-goog-api-key" not in request.headers and one.token not in str(request.headers)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_client_of_anthropic_reaches_claude_on_vertex(stream: bool, tmp_path: Path) -> None:
    model = "claude-9@20990101"
    with Google() as google:
        env = user_file(tmp_path, google)
        with gateway(google, env, model, "anthropic") as one:
            with CLIENTS["anthropic"](one.base_url(), model, key=one.token) as client:
                _, last = client.play("go", stream, [["noon"]])
            assert last.text == "It was noon." and one.exchanges()[1].served_model == model
            method = "streamRawPredict" if stream else "rawPredict"
            folder = "/v1/projects/proj-1/locations/global/publishers/anthropic/models"
            assert {request.path for request in google.asked} == {f"{folder}/{model}:{method}"}


def test_a_service_account_signs_what_it_asks_for(tmp_path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    with Google() as google:
        more = {"type": "service_account", "private_key": pem, "private_key_id": "k1", "client_email": "sa@proj-1"}
        env = user_file(tmp_path, google, **more)
        with gateway(google, env) as one, CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.play("go", False, [])
        (grant,) = google.grants
        assert grant["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        head, claims, signature = grant["assertion"][0].split(".")
        key.public_key().verify(decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
        told = json.loads(decoded(claims))
        assert json.loads(decoded(head)) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
        assert told["iss"] == "sa@proj-1" and told["aud"] == f"{google.url}/token"
        assert told["exp"] - told["iat"] <= 3600 and told["scope"].endswith("/auth/cloud-platform")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_machine_asks_its_metadata_server_which_also_tells_the_project() -> None:
    with Google() as google:
        env = {"GCE_METADATA_HOST": google.url.removeprefix("http://"), "GOOGLE_CLOUD_PROJECT": ""}
        with gateway(google, env) as one, CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.play("go", False, [])
        assert google.grants == [{"metadata": ["/computeMetadata/v1/instance/service-accounts/default/token"]}]
        assert google.asked[0].path.startswith("/v1/projects/machine-project/locations/global/")


def test_gclouds_own_file_is_found_and_the_project_that_pays_is_named(tmp_path: Path) -> None:
    with Google() as google:
        user_file(tmp_path, google, quota_project_id="payer")
        (tmp_path / "adc.json").rename(tmp_path / "application_default_credentials.json")
        env = {"CLOUDSDK_CONFIG": str(tmp_path)}
        with gateway(google, env) as one, CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.play("go", False, [])
        assert google.asked[0].headers["x-goog-user-project"] == "payer"


def test_a_token_is_kept_until_it_is_about_to_end(tmp_path: Path) -> None:
    with Google() as google, gateway(google, user_file(tmp_path, google)) as one:
        with CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.play("go", False, [["noon"]])
        assert len(google.grants) == 1
    with Google(lasts=200) as google, gateway(google, user_file(tmp_path, google)) as one:
        with CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.play("go", False, [["noon"]])
        assert len(google.grants) == 2


def test_the_ambient_token_is_never_shown(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    with Google() as google:
        env = {**VERTEX, "GOOGLE_VERTEX_BASE_URL": google.url, **user_file(tmp_path, google)}
        google.player.close()
        google.player = ScriptedServer({"m": scenario("m", {"turns": [f"{TOKEN}1"], "model": "gemini-9"})})
        upstream = Forward(providers.resolve("gemini-9", None, env), env=env)
        with ModelGateway(upstream, wire="google", model="gemini-9", record=record) as one:
            with CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
                (answer,) = client.play("go", False, [])
            assert one.exchanges()[0].text == "[GOOGLE_ACCESS_TOKEN]"
        assert answer.text == "[GOOGLE_ACCESS_TOKEN]" and TOKEN not in record.read_text()


def test_credentials_that_are_refused_end_the_run_as_such(tmp_path: Path) -> None:
    with Google(refuse=True) as google:
        env = user_file(tmp_path, google)
        with pytest.raises(ConfigError, match="revoked"):
            ambient({**VERTEX, **env}).check()
        with gateway(google, env) as one, CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.user("go")
            with pytest.raises(client.error):
                client.ask(False)
            assert one.end is not None and one.end.kind == "credentials" and "revoked" in one.end.error
            assert "refresh-token-1" not in one.end.error and not google.asked


def test_a_token_endpoint_that_is_not_there_is_transient(tmp_path: Path) -> None:
    with Google() as google:
        env = user_file(tmp_path, google)
    with pytest.raises(TransientError, match="no token"):
        ambient({**VERTEX, **env}).check()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "JSON"),
        ("[]", "holds no credentials"),
        ('{"type":"authorized_user","client_id":"a"}', "client_secret"),
        ('{"type":"service_account","private_key":"x","client_email":"e"}', "private_key"),
        ('{"type":"something_new"}', "something_new"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(content: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "adc.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=says) as refused:
        ambient({**VERTEX, "GOOGLE_APPLICATION_CREDENTIALS": str(file)})
    assert str(file) in str(refused.value) and "\n" not in str(refused.value)


def test_a_host_without_credentials_or_project_is_told_what_to_do(tmp_path: Path) -> None:
    with Provider(lambda connection, _: connection.send(404, b"")) as other:
        nobody = {**VERTEX, "GCE_METADATA_HOST": other.url.removeprefix("http://"), "HOME": str(tmp_path)}
        with pytest.raises(ConfigError, match="gcloud auth application-default login"):
            ambient(nobody)
    with Google() as google:
        env = user_file(tmp_path, google)
        with pytest.raises(ConfigError, match="GOOGLE_CLOUD_PROJECT"):
            ambient(env)


def test_other_kinds_of_files_are_read_by_google_auth(tmp_path: Path) -> None:
    """Workload identity: a token of the platform, from a file, is exchanged for Google's."""
    (tmp_path / "platform-token").write_text("platform-token-1")
    with Google() as google:
        env = user_file(
            tmp_path, google, type="external_account",
            audience="//iam.googleapis.com/locations/global/workforcePools/p/providers/q",
            subject_token_type="urn:ietf:params:oauth:token-type:jwt", token_url=f"{google.url}/token",
            credential_source={"file": str(tmp_path / "platform-token")},
        )  # fmt: skip
        for name in ("client_id", "client_secret", "refresh_token", "token_uri"):
            info = json.loads((tmp_path / "adc.json").read_text())
            info.pop(name)
            (tmp_path / "adc.json").write_text(json.dumps(info))
        with gateway(google, env) as one, CLIENTS["google"](one.base_url(), "gemini-9", key=one.token) as client:
            client.play("go", False, [])
            wait_for(lambda: one.exchanges())
        assert google.grants[0]["subject_token"] == ["platform-token-1"]
        assert google.asked[0].headers["authorization"] == f"Bearer {TOKEN}1"


def test_a_location_that_is_none_never_becomes_a_host_name() -> None:
    env = {**VERTEX, "GOOGLE_CLOUD_LOCATION": "evil.example/x"}
    resolved = providers.Resolved("vertex", "gemini-9")

    class Nobody:
        project = "p"

    with pytest.raises(ConfigError, match="GOOGLE_CLOUD_LOCATION"):
        Forward(resolved, env=env, ambient_credentials=Nobody())  # type: ignore[arg-type]
