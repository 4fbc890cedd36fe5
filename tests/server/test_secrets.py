"""Secrets that producers let slip are nowhere to be found: not on disk, in logs or in answers."""

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import psycopg
import pytest

from headwater.openlineage.reading import EventReader
from headwater.server.ingest.scrubbing import Scrubber
from headwater.server.store.aliases import AliasRules
from headwater.server.store.log import read_bodies
from headwater.server.store.store import Store
from server.events import as_bytes, comes_from, dataset, facet, lineage, run_event, run_id, schema
from server.process import ServerProcess

_JAAS = 'org.apache.kafka.PlainLoginModule required username="app" password="{}";'
_PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"


class _Planted:
    """Gives out secrets that can be told from everything else."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def new(self, form: str = "{}") -> str:
        secret = f"hunter2x{len(self.all):03d}zq"
        self.all.append(secret)
        return form.format(secret)


def _events(planted: _Planted) -> list[dict[str, Any]]:
    new = planted.new
    properties = {
        "spark.hadoop.fs.s3a.secret.key": new(),
        "spark.hadoop.fs.s3a.access.key": new(),
        "basic.auth.user.info": new("user:{}"),
        "sasl.jaas.config": new(_JAAS),
        "AWS_SESSION_TOKEN": new(),
        "nested": {"dbPassword": new(), "list": [{"apiKey": new()}, {"private_key": new(_PEM)}]},
        "credentials": {"user": new(), "more": [new(), {"deep": new()}]},
        "plain": new("jdbc:postgresql://db/x?user=me&password={}"),
        "entries": [{"name": "ssl.keystore.password", "value": new()},
                    {"key": "client-secret", "value": new()}],
    }  # fmt: skip
    query = new("CREATE TABLE t OPTIONS (url 'u', password '{}', ") + new('"secret" "{}")')
    failed = (
        new("401 for Authorization: Bearer {}abc")
        + new(" at https://admin:{}@host/x") + new(" and token={}&x=1")
        + new(" Basic {}== ") + new("s3://b?X-Amz-Signature={}")
    )  # fmt: skip
    return [
        run_event(
            "FAIL", 0, inputs=[dataset("t", new("postgres://app:{}@db:5432"),
                                       documentation=facet(description=new("password={}")))],
            outputs=[dataset("u", dataSource=facet(name="s", uri=new("jdbc:x://root:{}@h/db")),
                             custom=facet(inner={"Api-Key": new()}))],
            job_facets={"sql": facet(query=query),
                        "sourceCodeLocation": facet(url=new("https://ci:{}@git.example/x"))},
            spark_properties=facet(properties=properties),
            errorMessage=facet(message=failed, stackTrace=failed),
        ),
    ]  # fmt: skip


def _files(store_url: str, folder: Path) -> bytes:
    """All that a store keeps, also what it keeps compressed."""
    store = Store(store_url, AliasRules(()))
    try:
        with store.database.reading() as session:
            seqs = [row[0] for row in session.all("SELECT seq FROM event")]
            told = b"".join(read_bodies(session, seqs).values())
    finally:
        store.close()
    if store_url.startswith("sqlite:///"):
        path = Path(store_url.removeprefix("sqlite:///"))
        for file in path.parent.glob(f"{path.name}*"):
            told += file.read_bytes()
        with sqlite3.connect(path) as connection:
            told += "\n".join(connection.iterdump()).encode()
        connection.close()
        return told
    with psycopg.connect(store_url) as postgres:
        names = postgres.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchall()
        for (name,) in names:
            told += repr(postgres.execute(f"SELECT * FROM {name}".encode()).fetchall()).encode()
    return told


def test_planted_secrets_are_nowhere(server: ServerProcess, tmp_path: Path) -> None:
    planted = _Planted()
    events = _events(planted)
    server.api.send(*events)
    new, client = planted.new, server.api.client
    odd = as_bytes(run_event("START", 1, run="odd", odd=facet(passw0rd=new())))
    assert server.api.post(odd.replace(b"passw0rd", b"\\u0070assword")).status_code == 201
    client.put("/api/v1/sources/s2", json={"type": "PG", "connectionUrl": new("pg://u:{}@h/d")})
    client.put("/api/v1/namespaces/n2", json={"ownerName": "me", "description": new("token={}")})
    args = {"args": {"password": new()}}
    assert client.post("/api/v1/namespaces/jobs/jobs/job/runs", json=args).status_code == 201
    assert client.post("/api/v1/lineage", json={"password": new()}).status_code == 422
    told = b""
    masked = quote("postgres://******@db:5432", safe="")
    for path in (
        "/events/lineage?kind=all", "/namespaces", "/sources", "/jobs", "/search?q=postgres",
        f"/namespaces/{masked}/datasets/t", "/namespaces/db/datasets/u",
        "/namespaces/jobs/jobs/job", "/namespaces/jobs/jobs/job/runs",
        f"/jobs/runs/{run_id('run')}", f"/jobs/runs/{run_id('run')}/facets?type=run",
        "/lineage?nodeId=job:jobs:job", "/impact?nodeId=job:jobs:job",
    ):  # fmt: skip
        answer = client.get(f"/api/v1{path}")
        assert answer.status_code == 200, path
        told += answer.content
    server.end()
    told += server.log().encode() + _files(server.store_url, tmp_path)
    assert b"spark.hadoop.fs.s3a.secret.key" in told  # what is hidden is the value
    found = [secret for secret in planted.all if secret.encode() in told]
    assert found == []


KNOWN = {"namespace": "jobs", "name": "job", "run_id": run_id("run"), "field": "a"}
QUESTIONS = (
    "/events/lineage?kind=all", "/namespaces", "/sources", "/tags", "/jobs", "/datasets", "/runs",
    "/audit", "/search?q=a", "/lineage/whole", "/namespaces/jobs/jobs/job",
    "/namespaces/jobs/jobs/job/runs", "/namespaces/jobs/datasets/job",
)  # fmt: skip


NAMES = {"name", "namespace", "sourceName", "physicalName", "tags", "id", "runId"}


def _filled(told: dict[str, Any], whole: dict[str, Any], planted: _Planted, key: str = "") -> Any:
    """A value of a schema with a secret in every string, also where anything may stand."""
    if "$ref" in told:
        told = whole["components"]["schemas"][told["$ref"].rpartition("/")[2]]
    kinds = [told, *told.get("oneOf", ()), *told.get("anyOf", ())]
    kind: dict[str, Any] = next((k for k in kinds if k.get("type") not in (None, "null")), {})
    address = planted.new("postgres://u:{}@h/db")
    text = address if key in NAMES else planted.new("password={0} postgres://u:{0}@h/db")
    if kind.get("type") == "object" and "properties" in kind:
        return {n: _filled(part, whole, planted, n) for n, part in kind["properties"].items()}
    if kind.get("type") == "array":
        return [_filled(kind.get("items") or {"type": "object"}, whole, planted, key)]
    if kind.get("type") == "string":
        return text
    return {"namespace": "jobs", "name": "a", "description": text, "type": text, address: text}


def _writes(whole: dict[str, Any], planted: _Planted) -> Iterator[tuple[str, str, Any]]:
    """Each write of the API with secrets in its body, and then in each part of its path."""
    for path, methods in whole["paths"].items():
        for method, told in methods.items():
            if method == "get" or path.startswith(("/api/v1/lineage", "/api/v1/pipelines")):
                continue
            names = re.findall(r"{(\w+)", path)
            schema = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            given = {name: KNOWN.get(name, "t") for name in names}
            asked = [given, *({**given, name: planted.new("pg://u:{}@h/d")} for name in names)]
            for parts in asked:
                body = _filled(schema["schema"], whole, planted) if schema else None
                escaped = {name: quote(text, safe="") for name, text in parts.items()}
                yield method.upper(), re.sub(r"{(\w+)[^}]*}", lambda m: escaped[m[1]], path), body  # noqa: B023
                if isinstance(body, dict):
                    for name in body:  # where the whole is refused for one of them
                        yield (
                            method.upper(),
                            path.format(**escaped),
                            {"type": "x", name: body[name]},
                        )


def test_secrets_in_any_string_of_any_write_are_nowhere(
    server: ServerProcess, tmp_path: Path
) -> None:
    planted, client = _Planted(), server.api.client
    server.api.send(
        run_event("START", 0, outputs=[dataset("job", "jobs", schema=schema("a"))]),
    )
    told, statuses = b"", []
    for method, path, body in _writes(client.get("/api/docs/openapi.json").json(), planted):
        answer = client.request(method, path, json=body)
        assert answer.status_code < 500, (method, path, body, answer.text)
        statuses.append((method, path, answer.status_code))
        told += answer.content
        server.api.send(run_event("RUNNING", 1, outputs=[dataset("job", "jobs")]))
    for path in QUESTIONS:
        answer = client.get(f"/api/v1{path}")
        told += answer.content
    server.end()
    told += server.log().encode() + _files(server.store_url, tmp_path)
    assert len([each for each in statuses if each[2] in (200, 201)]) > 40, statuses
    text = unquote(unquote(told.decode(errors="replace")))
    places = re.findall(r".{0,80}hunter2x\d+zq.{0,20}", text, re.IGNORECASE)
    assert places == []


def test_secrets_beside_and_inside_what_was_said_before_are_masked() -> None:
    reader = EventReader(Scrubber().scrub)
    clean = [dataset("t", schema=schema("password", "id"))]
    leaky = [dataset("t", documentation=facet(description="mind token=hunter2"))]
    for minute in range(2):
        for inputs, about in ((clean, {}), (leaky, {}), (clean, {"password": "hunter2"})):
            told = run_event("START", minute, inputs=inputs, odd=facet(**about))
            event = reader.read(as_bytes(told))
            assert b"hunter2" not in event.raw
            assert b"hunter2" not in b"".join(bytes(f) for f in event.inputs[0].facets.values())
            assert json.loads(event.raw)["inputs"][0]["name"] == "t"
            if inputs is clean:
                assert json.loads(event.raw)["inputs"] == json.loads(as_bytes(told))["inputs"]


def test_what_is_no_secret_stays_byte_for_byte() -> None:
    columns = lineage(password=[comes_from("t", "token")])
    clean = json.dumps(
        run_event(
            "START", 0,
            outputs=[dataset("secrets", schema=schema("password", "key"), columnLineage=columns)],
            documentation=facet(description="the token of our esteem @ the office"),
        ),
        separators=(", ", ": "),
    ).encode()  # fmt: skip
    assert Scrubber().scrub(clean) == clean


@pytest.mark.parametrize(
    "number", ["1e400", "-1e999", "99999999999999999999999999", "1.0", "1e-400"]
)
def test_an_event_with_a_secret_is_taken_with_any_number_in_it(
    server: ServerProcess, number: str
) -> None:
    raw = as_bytes(run_event("START", 0, odd=facet(number="PLACE", password="hunter2")))
    assert server.api.post(raw.replace(b'"PLACE"', number.encode())).status_code == 201
    (event,) = server.api.get("/events/lineage")["events"]
    assert event["run"]["facets"]["odd"]["password"] == "******"
    assert float(event["run"]["facets"]["odd"]["number"]) == float(number)


def test_what_was_masked_can_be_seen(server: ServerProcess) -> None:
    server.api.send(run_event("START", 0, odd=facet(dbPassword="x", url="http://u:p@h/")))
    client = server.api.client
    path = f"/api/v1/jobs/runs/{run_id('run')}/facets?type=run"
    told = client.get(path).json()["facets"]["headwater_masked"]
    assert told["rules"] == {"address": 1, "key": 1}
    assert told["paths"] == ["run.facets.odd.dbPassword", "run.facets.odd.url"]
    metrics = client.get("/metrics").text
    assert 'headwater_secrets_masked_total{rule="key"} 1.0' in metrics


@pytest.mark.parametrize("depth", [350, 900, 5_000])
def test_a_secret_that_lies_deep_is_masked_or_refused(server: ServerProcess, depth: int) -> None:
    """It passed where the reader of an event went deeper than what looked for secrets."""
    raw = as_bytes(run_event("START", 0, odd=facet(deep="PLACE")))
    deep = b'{"a":' * depth + b'{"password":"hunter2deep"}' + b"}" * depth
    answer = server.api.post(raw.replace(b'"PLACE"', deep))
    assert answer.status_code in (201, 400, 422)
    events = server.api.client.get("/api/v1/events/lineage?kind=all").text
    assert "hunter2deep" not in answer.text + events


def test_a_dataset_is_the_same_when_its_address_is_signed_anew(server: ServerProcess) -> None:
    address = "https://b.s3.amazonaws.com/k?X-Amz-Credential={0}&X-Amz-Date={0}&X-Amz-Signature={0}"
    for number in range(3):
        name = address.format(f"hunter{number}")
        server.api.send(run_event(run=f"{number}", inputs=[dataset(name, name)], outputs=["out"]))
    nodes = [node["id"] for node in server.api.get("/lineage", nodeId="job:jobs:job")["graph"]]
    assert len(nodes) == 3, nodes
    assert "hunter" not in str(nodes)
    again = quote(address.format("hunter9"), "")
    assert server.api.get(f"/namespaces/{again}/datasets/{again}")["name"] == address.format(
        "******"
    )
