"""How keys are made, asked for and revoked, and what the server tells browsers."""

import gzip
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.testing import TestClient

from headwater.cli.main import main
from headwater.http.keys import SCOPES
from headwater.server.http.app import make_app
from headwater.server.settings import Settings
from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key, revoke_key
from server.events import as_bytes, dataset, dataset_event, run_event, schema
from server.process import ServerProcess
from server.stores import Stores
from server.test_access import NEEDS, concrete

_JSON = {"content-type": "application/json"}
HERE = "http://127.0.0.1"


def _signed(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture
def guarded(stores: Stores) -> Iterator[tuple[TestClient[Any], dict[str, str]]]:
    """A server with a key of each scope."""
    url = stores.new("sqlite")
    database = open_database(url)
    keys = {scope: create_key(database, scope, [scope]) for scope in SCOPES}
    database.close()
    with TestClient(make_app(Settings(store=url)), base_url=HERE) as client:
        yield client, keys
    stores.drop(url)


def test_a_key_is_asked_for_from_the_first_one_on(stores: Stores) -> None:
    url = stores.new("sqlite")
    with TestClient(make_app(Settings(store=url)), base_url=HERE) as client:
        assert client.get("/api/v1/session").json() == {
            "required": False, "scopes": None, "name": None,
        }  # fmt: skip
        assert client.get("/api/v1/namespaces").status_code == 200
        database = open_database(url)
        key = create_key(database, "page", ["read", "write"])
        _until(lambda: client.get("/api/v1/namespaces").status_code == 401)
        session = client.get("/api/v1/session", headers=_signed(key)).json()
        assert session == {"required": True, "scopes": ["read", "write"], "name": "page"}
        assert client.get("/api/v1/session").json()["required"] is True
        assert client.get("/api/v1/session", headers=_signed("wrong")).status_code == 401
        refused = client.get("/api/v1/namespaces", headers=_signed("hw_wrong"))
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert client.get("/health").status_code == 200
        revoke_key(database, "page")
        _until(lambda: client.get("/api/v1/namespaces", headers=_signed(key)).status_code == 401)
        with database.reading() as session_:
            kept = repr(session_.all("SELECT * FROM api_key"))
        assert key not in kept
        database.close()
    stores.drop(url)


def _until(is_so: Any) -> None:
    import time

    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_key_for_some_namespaces_writes_only_there(stores: Stores) -> None:
    url = stores.new("sqlite")
    database = open_database(url)
    key = create_key(database, "team", ["read", "write", "admin"], ["jobs"])
    database.close()
    other = run_event() | {"job": {"namespace": "elsewhere", "name": "x"}}
    with TestClient(make_app(Settings(store=url)), base_url=HERE) as client:
        client.headers = httpx.Headers(_signed(key) | _JSON)
        send = "/api/v1/lineage"
        assert client.post(send, content=as_bytes(run_event())).status_code == 201
        assert client.post(send, content=as_bytes(other)).status_code == 403
        told = dataset_event(0, dataset("t", "db"))
        assert client.post(send, content=as_bytes(told)).status_code == 403
        both = client.post(send, content=as_bytes([run_event("START"), other]))
        assert (both.status_code, [r["status"] for r in both.json()["results"]]) == (
            207, [201, 403])  # fmt: skip
        assert client.put("/api/v1/namespaces/jobs-2", json={"ownerName": "x"}).status_code == 200
        assert client.put("/api/v1/namespaces/else", json={"ownerName": "x"}).status_code == 403
        assert client.put("/api/v1/tags/x", json={}).status_code == 403
        assert client.get("/api/v1/namespaces").status_code == 200
    stores.drop(url)


def test_a_key_that_asks_too_much_is_told_to_wait(stores: Stores) -> None:
    url = stores.new("sqlite")
    database = open_database(url)
    key, other = (create_key(database, name, ["read"]) for name in ("a", "b"))
    database.close()
    with TestClient(make_app(Settings(store=url, rate=2.0)), base_url=HERE) as client:
        codes = [
            client.get("/api/v1/namespaces", headers=_signed(key)).status_code for _ in range(40)
        ]
        assert {*codes} == {200, 429}
        refused = client.get("/api/v1/namespaces", headers=_signed(key))
        assert (refused.status_code, int(refused.headers["retry-after"]) >= 1) == (429, True)
        assert client.get("/api/v1/namespaces", headers=_signed(other)).status_code == 200
    stores.drop(url)


_EVENT = as_bytes(run_event())
_GZIP = _JSON | {"content-encoding": "gzip"}
WAYS: dict[str, tuple[str, bytes, dict[str, str]]] = {  # to send events
    "an event": ("", _EVENT, _JSON),
    "an array": ("", b"[" + _EVENT + b"]", _JSON),
    "no event": ("", b"{}", _JSON),
    "no JSON": ("", b"x", _JSON),
    "a large event": ("", _EVENT.ljust(70_000), _JSON),
    "compressed": ("", gzip.compress(_EVENT), _GZIP),
    "another kind": ("", _EVENT, {"content-type": "application/xml"}),
    "of a page": ("", _EVENT, _JSON | {"origin": HERE}),
    "a secret": ("", as_bytes(run_event(spark={"password": "hunter2" * 300})), _JSON),
    "lines": ("/batch", _EVENT, {"content-type": "application/x-ndjson"}),
}
RATED = [route for route, scope in NEEDS.items() if scope != "open" and "/stream" not in route]
LIMITS: dict[str, list[str]] = {"all namespaces": [], "two namespaces": ["jobs", "db"]}
Asking = Callable[..., list[int]]


@pytest.fixture(scope="module")
def ask_thrice(stores: Stores) -> Iterator[Asking]:
    """Asks a server that lets each key ask once in a thousand seconds; a key for each test."""
    url = stores.new("sqlite")
    database = open_database(url)
    keys = {
        (test, limits, scope): create_key(database, f"{test} {limits} {scope}", [scope], prefixes)
        for limits, prefixes in LIMITS.items()
        for scope in SCOPES
        for test in (*RATED, *WAYS)
    }
    database.close()
    with TestClient(make_app(Settings(store=url, rate=0.001)), base_url=HERE) as client:

        def ask(key: Any, *asked: Any, content: bytes = b"", **headers: str) -> list[int]:
            signed = _signed(keys[key]) | headers
            answers = [client.request(*asked, content=content, headers=signed) for _ in range(3)]
            return [answer.status_code for answer in answers]

        yield ask
    stores.drop(url)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("scope", SCOPES)
def test_the_rate_of_a_key_applies_on_every_route(
    ask_thrice: Asking, scope: str, limits: str
) -> None:
    for route in RATED:
        first, *others = ask_thrice((route, limits, scope), *concrete(route))
        assert (first == 429, others) == (False, [429, 429]), route


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("way", WAYS)
def test_the_rate_of_a_key_applies_to_every_way_to_send_events(
    ask_thrice: Asking, way: str, limits: str
) -> None:
    path, content, headers = WAYS[way]
    asked = ("POST", f"/api/v1/lineage{path}")
    first, *others = ask_thrice((way, limits, "write"), *asked, content=content, **headers)
    assert (first == 429, others) == (False, [429, 429])


def test_deletions_are_written_down(guarded: tuple[TestClient[Any], dict[str, str]]) -> None:
    client, keys = guarded
    headers = _signed(keys["admin"])
    client.post("/api/v1/lineage", content=as_bytes(run_event()), headers=headers | _JSON)
    assert client.delete("/api/v1/namespaces/jobs/jobs/job", headers=headers).status_code == 200
    assert client.delete("/api/v1/namespaces/no/jobs/such", headers=headers).status_code == 404
    told = client.get("/api/v1/audit", headers=headers).json()["audit"]
    assert [(t["who"], t["action"], t["target"]) for t in told][:2] == [
        ("admin", "DELETE", "/api/v1/namespaces/jobs/jobs/job"),
        ("command line", "key created", "admin"),
    ]


DELETIONS = (  # every route that takes something away
    "DELETE /api/v1/namespaces/jobs/jobs/job/tags/T",
    "DELETE /api/v1/namespaces/db/datasets/out/tags/T",
    "DELETE /api/v1/namespaces/db/datasets/out/fields/a/tags/T",
    "DELETE /api/v1/namespaces/db/datasets/out",
    "DELETE /api/v1/namespaces/jobs/jobs/job",
    "DELETE /api/v1/namespaces/jobs",
)


@pytest.mark.parametrize("who", ["anyone", "admin"])
def test_every_deletion_has_an_audit_row(stores: Stores, who: str) -> None:
    url = stores.new("sqlite")
    headers: dict[str, str] = {}
    if who == "admin":
        database = open_database(url)
        headers = _signed(create_key(database, "admin", ["admin"]))
        database.close()
    with TestClient(make_app(Settings(store=url)), base_url=HERE) as client:
        out = dataset("out", schema=schema("a"))
        event = as_bytes(run_event(outputs=[out]))
        client.post("/api/v1/lineage", content=event, headers=headers | _JSON)
        for deletion in DELETIONS:
            method, path = deletion.split(" ")
            assert client.request(method, path, headers=headers).status_code == 200, deletion
            told = client.get("/api/v1/audit", headers=headers).json()["audit"][0]
            assert (told["who"], f"{told['action']} {told['target']}") == (who, deletion)
    deleting = {route for route in NEEDS if route.startswith("DELETE") and "pipelines" not in route}
    assert len(deleting) == len(DELETIONS)
    stores.drop(url)


def test_pages_of_other_sites_can_do_nothing(stores: Stores, tmp_path: Path) -> None:
    """Without keys on loopback: other names of this machine, and writes from other sites."""
    url = stores.new("sqlite")
    event = as_bytes(run_event())
    with ServerProcess(url, tmp_path / "log") as server:

        def code(method: str, path: str, body: bytes = b"", **headers: str) -> int:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            return httpx.request(
                method, server.url + path, content=body or None, headers=sent
            ).status_code

        own = f"http://127.0.0.1:{server.port}"
        send, kind = "/api/v1/lineage", "application/json"
        assert code("GET", "/api/v1/namespaces", host="evil.example") == 403
        assert code("GET", "/", host="evil.example:80") == 403
        assert code("GET", "/api/v1/namespaces", host=f"localhost:{server.port}") == 200
        assert code("POST", send, event, content_type=kind, host="evil.example") == 403
        assert code("POST", send, event, content_type="text/plain") == 415
        assert code("POST", send, event) == 415
        assert code("POST", send, event, content_type=kind, origin="http://evil.example") == 403
        assert code("POST", send, event, content_type=kind, sec_fetch_site="cross-site") == 403
        assert code("POST", send, event, content_type=kind, sec_fetch_site="same-site") == 403
        assert code("DELETE", "/api/v1/namespaces/default", origin="null") == 403
        assert code("POST", f"{send}/batch", event, content_type="text/plain") == 415
        assert code("OPTIONS", send, origin="http://evil.example") in (403, 405)
        found = httpx.get(f"{server.url}/api/v1/events/lineage?kind=all").json()
        assert found["totalCount"] == 0
        assert code("POST", send, event, content_type=kind, origin=own) == 201
        assert code("POST", send, event, content_type=kind, sec_fetch_site="same-origin") == 201
        for path in ("/", "/api/docs", "/api/docs/openapi.json", "/api/v1/jobs", "/health", "/no"):
            told = httpx.get(server.url + path).headers
            assert "default-src 'none'" in told["content-security-policy"], path
            assert "unsafe" not in told["content-security-policy"], path
    stores.drop(url)


def test_headers_are_safe_and_others_are_let_in_only_if_named(stores: Stores) -> None:
    url = stores.new("sqlite")
    friend, stranger = {"origin": "https://friend.example"}, {"origin": "https://evil.example"}
    with TestClient(make_app(Settings(store=url)), base_url=HERE) as client:
        answer = client.get("/api/v1/namespaces", headers=friend)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers
        asked = client.options("/api/v1/lineage", headers=friend)
        assert "access-control-allow-origin" not in asked.headers
    with TestClient(
        make_app(Settings(store=url, cors=("https://friend.example",))), base_url=HERE
    ) as client:
        asked = client.options("/api/v1/lineage", headers=friend)
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (
            204, friend["origin"])  # fmt: skip
        refused = client.get("/api/v1/namespaces", headers=stranger)
        assert "access-control-allow-origin" not in refused.headers
    stores.drop(url)


def test_without_keys_the_server_stays_on_its_machine(stores: Stores, tmp_path: Path) -> None:
    url = stores.new("sqlite")
    command = [sys.executable, "-m", "headwater.cli.main", "server", "--host", "0.0.0.0"]
    done = subprocess.run(
        [*command, "--port", "0", "--store", url],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "a server without API keys listens on loopback only" in done.stderr
    assert "headwater key create" in done.stderr


def test_keys_on_the_command_line(stores: Stores, capsys: pytest.CaptureFixture[str]) -> None:
    url = stores.new("sqlite")
    with pytest.raises(SystemExit) as end:
        main(["key", "create", "ci", "--scope", "write", "--namespace", "ci", "--store", url])
    assert not end.value.code
    made = capsys.readouterr().out.strip()
    assert made.startswith("hw_")
    with pytest.raises(SystemExit):
        main(["key", "list", "--store", url])
    listed = capsys.readouterr().out
    assert ("ci" in listed, "write" in listed, made in listed) == (True, True, False)
    for args, code in ((["revoke", "ci"], 0), (["revoke", "ci"], 2),
                       (["create", "x", "--scope", "root"], 2)):  # fmt: skip
        with pytest.raises(SystemExit) as end:
            main(["key", *args, "--store", url])
        assert (end.value.code or 0) == code, args
    stores.drop(url)


def test_tls_by_certificate_files(stores: Stores, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    _make_certificate(certificate, key)
    url = stores.new("sqlite")
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    server = ServerProcess(url, tmp_path / "log", *options)
    server.verify = ssl.create_default_context(cafile=str(certificate))
    server.url = f"https://localhost:{server.port}"
    with server:
        answer = httpx.get(f"{server.url}/health", verify=server.verify)
        assert answer.status_code == 200
        assert "max-age" in answer.headers["strict-transport-security"]
    stores.drop(url)


def _make_certificate(certificate: Path, key: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    start = datetime.now(UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.TraditionalOpenSSL
    none = serialization.NoEncryption()
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, none))
