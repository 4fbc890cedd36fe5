"""Whatever is sent to a worker, it says what is wrong with it; the fault is never its own."""

import json
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient
from pyspark.sql import SparkSession

from headwater.pipeline.settings import Settings
from headwater.pipeline.states import State
from headwater.pipeline.worker.api import make_api
from headwater.pipeline.worker.host import Worker
from headwater.pipeline.worker.store import LocalStore

SINK = {"connector.class": "s3-sink", "topics": "quiet", "s3.bucket.name": "b"}
DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
DEEPLY: Any = json.loads('{"a":' * 900 + "1" + "}" * 900)
ODD_VALUES: tuple[Any, ...] = (
    None, [], {}, [[]], 0, -1, 10**400, 1.5, True, "", " ", ".", "..", "\0", "\x7f", "\ud800",
    "é" * 5000, "x" * 70_000, "${env:NONE}", "${file:/none}", "=1", "{", "9" * 5000, "²", DEEPLY,
)  # fmt: skip
BODIES: dict[str, bytes] = {
    "nothing": b"", "no JSON": b"<x>", "no UTF-8": b"\xff\xfe", "deep": DEEP,
    "a deep list": b"[" * 60_000, "NaN": b'{"name":"x","config":{"a":NaN}}',
    "a deep configuration": b'{"name":"x","config":' + DEEP + b"}",
    "deep offsets": b'{"offsets":[' + DEEP + b"]}",
    "a huge number": b'{"name":"x","config":{"a":' + b"9" * 5000 + b"}}",
    "a repeated key": b'{"name":"x","name":"y","config":{},"config":{}}',
    "half a pair": b'{"name":"\\ud800","config":{"\\ud800":"\\udc00"},"level":"\\ud800"}',
}  # fmt: skip


def _with_values() -> Iterator[Any]:
    """Bodies that have an odd value in a place that a route reads."""
    for value in ODD_VALUES:
        yield value
        yield {"name": value, "config": value, "initial_state": value}
        yield {"name": value, "config": SINK, "initial_state": "STOPPED"}
        yield {"name": "x", "config": {**SINK, "topics": value}, "initial_state": "STOPPED"}
        yield {**SINK, "flush.size": value, "topics": value, "name": value}
        yield {"connector.class": value}
        yield {"level": value, "offsets": value}
        yield {"offsets": [{"partition": value, "offset": value}]}
        place = {"kafka_topic": "loud", "kafka_partition": value}
        yield {"offsets": [{"partition": place, "offset": {"kafka_offset": value}}]}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient[Litestar]]:
    """A worker with a stopped connector; it never comes to run one, so that it needs no Spark."""
    folder = tmp_path_factory.mktemp("worker")
    nothing = cast("SparkSession", None)
    worker = Worker(nothing, Settings(catalog="cat"), LocalStore(folder / "state"), str(folder))
    worker.create("quiet", SINK, State.STOPPED)
    with TestClient(make_api(worker, "here"), raise_server_exceptions=False) as found:
        yield found
    worker.close()


def _routes(client: TestClient[Litestar], *methods: str) -> list[tuple[str, str]]:
    """Every route of these methods, on a connector that exists and on others."""
    names = (
        "quiet",
        "none",
        quote("\ud800é\0", errors="surrogatepass", safe=""),
        "%ff",
        "x" * 3000,
    )
    places = [
        (method, route.path_format.replace("{number}", "0"))
        for route in client.app.routes
        for method in sorted({*methods} & {*getattr(route, "methods", ())})
    ]
    named = ((method, _named(path, name)) for method, path in places for name in names)
    return [*dict.fromkeys(named)]


def _named(path: str, name: str) -> str:
    plugin = "s3-sink" if name == "quiet" else name
    path = path.replace("{name}", name).replace("{plugin}", plugin)
    return path.replace("{logger}", "root" if name == "quiet" else name)


def _check(answer: httpx.Response, *asked: object) -> None:
    shown = [repr(one)[:200] for one in asked]
    assert answer.status_code < 500, (shown, answer.text[:300])
    if answer.status_code >= 400:
        assert answer.json()["error_code"] == answer.status_code, (shown, answer.text[:300])


@pytest.mark.parametrize("body", BODIES)
def test_no_body_is_a_fault_of_the_worker(client: TestClient[Litestar], body: str) -> None:
    for method, path in _routes(client, "POST", "PUT", "PATCH", "DELETE"):
        if path == "/connectors/quiet" or path.endswith(("quiet/resume", "quiet/pause")):
            continue  # it would be gone, or run
        headers = {"content-type": "application/json"}
        answer = client.request(method, path, content=BODIES[body], headers=headers)
        _check(answer, method, path, body)


def test_no_value_in_a_body_is_a_fault_of_the_worker(client: TestClient[Litestar]) -> None:
    paths = {
        "/connectors": "POST", "/connectors/quiet/config": "PUT", "/connectors/new/config": "PUT",
        "/connector-plugins/s3-sink/config/validate": "PUT", "/admin/loggers/none": "PUT",
        "/connectors/quiet/offsets": "PATCH",
    }  # fmt: skip
    for value in _with_values():
        for path, method in paths.items():
            body = json.dumps(value).encode()
            headers = {"content-type": "application/json"}
            _check(client.request(method, path, content=body, headers=headers), method, path, value)
            client.delete("/connectors/x")
            client.delete("/connectors/new")


QUERIES = (
    "lines=-1", "lines=x", f"lines={10**30}", "expand=x&expand=info,status", "%ff=%00", "purge=%ff",
    "includeTasks=x", "takeover=2",
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_no_parameter_is_a_fault_of_the_worker(client: TestClient[Litestar], query: str) -> None:
    for method, path in _routes(client, "GET"):
        if path != "/connectors/quiet/offsets":  # which Spark reads
            _check(client.request(method, f"{path}?{query}"), method, path, query)


def test_a_fault_of_the_worker_is_told_as_kafka_connect_does(
    client: TestClient[Litestar], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Worker, "names", lambda _: 1 / 0)
    answer = client.get("/connectors")
    assert answer.status_code == 500
    assert answer.json() == {
        "error_code": 500, "message": "ZeroDivisionError; see the log of the worker",
    }  # fmt: skip
