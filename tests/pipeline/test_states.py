"""States that are true: what passes is tried again, what does not fails at once, nothing hangs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from pipeline.plain import Plain, move, put, sink, states, stop
from pipeline.process import WorkerProcess
from pipeline.proxy import Door
from pipeline.renamed import renamed
from server.process import ServerProcess
from stack.platform import Platform, eventually

LIMIT_S = 120


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("lineage")
    with ServerProcess(f"sqlite:///{folder}/lineage.db", folder / "server.log") as server:
        yield server


@pytest.fixture(scope="module")
def worker(
    platform: Platform, server: ServerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("states") / "state"
    lineage = {"OPENLINEAGE_URL": server.url, "HEADWATER_HEARTBEAT_SECONDS": "1"}
    # No query that is in a batch ends in that time: every stop of one passes its timeout.
    quick = {"spark.sql.streaming.stopTimeout": "1ms"}
    worker = WorkerProcess(platform, folder, environ=lineage, conf=quick)
    worker.start()
    yield worker
    worker.stop()


def connector(worker: WorkerProcess, name: str) -> dict[str, Any]:
    status: dict[str, Any] = worker.get(f"/connectors/{name}/status")
    return status


def runs(server: ServerProcess, job: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{server.url}/api/v1/runs", params={"limit": 100})
    return [one["run"] for one in answer.json()["runs"] if one["job"]["name"] == job]


def generator(topic: str, kind: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "generator",
        "rows.per.second": "5",
        f"genv.{topic}.id.with": "#{Internet.uuid}",
        f"genv.{topic}.size.with": kind,
        **more,
    }


def test_a_service_that_is_away_is_waited_for(worker: WorkerProcess, platform: Platform) -> None:
    registry = urlsplit(platform.variables()["SCHEMA_REGISTRY_URL"])
    door = Door(registry.netloc)
    url = f"http://127.0.0.1:{door.port}{registry.path}"
    name, config = renamed("orders-s3-sink", "away")
    put(worker, name, {**config, "value.converter.schema.registry.url": url})
    eventually(lambda: states(worker, name) == ["RUNNING", "RESTARTING"], LIMIT_S)
    (task,) = connector(worker, name)["tasks"]
    assert task["phase"] == "BACKOFF"
    assert "refused" in task["trace"]
    door.open()
    eventually(lambda: states(worker, name) == ["RUNNING", "RUNNING"], LIMIT_S)
    door.close()
    assert worker.ask("DELETE", f"/connectors/{name}?purge").status_code == 204


def test_the_api_answers_while_a_connector_hangs(worker: WorkerProcess, platform: Platform) -> None:
    registry = urlsplit(platform.variables()["SCHEMA_REGISTRY_URL"])
    door = Door(registry.netloc)
    door.open(answers=False)
    name, config = renamed("orders-s3-sink", "hanging")
    url = f"http://127.0.0.1:{door.port}"
    put(worker, name, {**config, "value.converter.schema.registry.url": url})
    with httpx.Client(base_url=worker.url, timeout=30) as client:
        for path in ("/connectors?expand=status&expand=info", f"/connectors/{name}/status"):
            assert client.get(path).status_code == 200
        for path in ("", "/config", "/tasks", "/topics", "/offsets", "/logs"):
            assert client.get(f"/connectors/{name}{path}").status_code == 200
        assert client.put(f"/connectors/{name}/pause").status_code == 202
        assert client.delete(f"/connectors/{name}?purge").status_code == 204
        assert name not in client.get("/connectors").json()
    door.close()


def test_a_stop_past_its_timeout_leaves_no_query_behind(
    worker: WorkerProcess, platform: Platform
) -> None:
    plain = Plain(platform)
    plain.topic("slow")
    plain.send("slow", range(20))
    put(worker, "slow", sink("slow", topics__dir="slow"))
    eventually(lambda: plain.once("slow/slow/", ids=range(20)), LIMIT_S)
    with suspended(platform, "s3"), httpx.Client(base_url=worker.url, timeout=30) as client:
        plain.send("slow", range(20, 40))
        eventually(lambda: _is_in_a_batch(worker.folder / "checkpoints" / "slow"), LIMIT_S)
        assert client.put("/connectors/slow/stop").status_code == 204
        eventually(lambda: "does not stop yet" in _logs(worker, "slow"), LIMIT_S)
        for path in ("", "/status", "/config", "/tasks", "/topics", "/offsets", "/logs"):
            assert client.get(f"/connectors/slow{path}").status_code == 200
        assert client.put("/connectors/slow/resume").status_code == 202
    eventually(lambda: plain.once("slow/slow/", ids=range(40)), LIMIT_S)
    stop(worker, "slow")
    plain.send("slow", range(40, 50))
    put(worker, "witness", sink("slow", topics__dir="witness"))
    eventually(lambda: plain.once("witness/slow/", ids=range(50)), LIMIT_S)
    assert plain.once("slow/slow/", ids=range(40))
    for name in ("slow", "witness"):
        assert worker.ask("DELETE", f"/connectors/{name}?purge").status_code == 204


def test_requests_that_wait_for_a_service_leave_the_others_alone(
    worker: WorkerProcess, platform: Platform
) -> None:
    plain = Plain(platform)
    plain.topic("asked")
    plain.send("asked", range(5))
    put(worker, "asked", sink("asked", topics__dir="asked"))
    eventually(lambda: plain.once("asked/asked/", ids=range(5)), LIMIT_S)
    stop(worker, "asked")
    with ThreadPoolExecutor(100) as threads:
        with suspended(platform, "kafka"):
            waiting = [
                threads.submit(move, worker, "asked", "asked", {0: number % 5})
                for number in range(100)
            ]
            eventually(lambda: all(one.running() for one in waiting), LIMIT_S)
            with httpx.Client(base_url=worker.url, timeout=30) as client:
                for path in ("/connectors?expand=status", "/connectors/asked/status", "/"):
                    assert client.get(path).status_code == 200
            ended = [one.result().text for one in waiting if one.done()]
            assert ended == []
        for one in waiting:
            one.result()
    assert worker.ask("DELETE", "/connectors/asked?purge").status_code == 204


@contextmanager
def suspended(platform: Platform, service: str) -> Iterator[None]:
    """A service that accepts connections and answers nothing."""
    process = psutil.Process(platform.service(service)["pid"])
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def _is_in_a_batch(checkpoint: Path) -> bool:
    """Whether a query has begun a batch that it has not committed."""
    (log,) = checkpoint.rglob("offsets")
    begun, done = (
        max((int(one.name) for one in folder.iterdir() if one.name.isdigit()), default=-1)
        for folder in (log, log.parent / "commits")
    )
    return begun > done


def test_what_does_not_pass_fails_at_once_and_is_told(
    worker: WorkerProcess, server: ServerProcess
) -> None:
    put(worker, "picky", generator("picky", "#{number.number_between '1','9'}"))
    eventually(lambda: states(worker, "picky") == ["RUNNING", "RUNNING"], LIMIT_S)
    eventually(lambda: bool(runs(server, "picky")), LIMIT_S)
    put(worker, "picky", generator("picky", "#{Lorem.word}"))
    eventually(lambda: states(worker, "picky") == ["RUNNING", "FAILED"], LIMIT_S)
    (task,) = connector(worker, "picky")["tasks"]
    assert "409" in task["trace"]
    eventually(lambda: "FAILED" in {one["state"] for one in runs(server, "picky")}, LIMIT_S)
    assert worker.ask("DELETE", "/connectors/picky?purge").status_code == 204


def test_a_compatible_schema_restarts_no_run(worker: WorkerProcess, server: ServerProcess) -> None:
    source, orders = renamed("orders-source", "grown", **{"rows.per.second": "20"})
    letters = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "grown-dead"}
    often = {"rotate.schedule.interval.ms": "500", "iceberg.control.commit.interval-ms": "500"}
    put(worker, source, orders)
    archive, stored = renamed("orders-s3-sink", "grown", **often, **letters)
    sink, table = renamed("orders-iceberg-sink", "grown", **often)
    stats = {"job.input.topic": "grown", "job.output.topic": "grown-stats"}
    windows = renamed("supplier-stats", "grown", **stats)[1]
    readers = {archive: stored, sink: table, "grown-stats": windows}
    for name, config in readers.items():
        put(worker, name, config)

    def rows(name: str) -> int:
        listed = worker.get(f"/connectors/{name}/offsets")["offsets"]
        return sum(one["offset"]["kafka_offset"] for one in listed)

    eventually(lambda: all(rows(name) > 0 for name in readers), LIMIT_S)
    currency = {"genv.grown.currency.with": "EUR", "attrv.grown.currency.null.rate": "0.5"}
    assert worker.ask("PATCH", f"/connectors/{source}/config", currency).status_code == 200
    eventually(lambda: all("new schema" in _logs(worker, name) for name in readers), LIMIT_S)
    before = {name: rows(name) for name in readers}
    eventually(lambda: all(rows(name) > before[name] for name in readers), LIMIT_S)
    for name in (*readers, f"{archive}.grown.dead-letters"):
        assert [one["state"] for one in runs(server, name)] == ["RUNNING"], name
    assert states(worker, archive) == ["RUNNING"] * 3
    # The lineage is that of the objects, not of where they were staged.
    place = httpx.get(f"{server.url}/api/v1/namespaces/s3%3A%2F%2Ffh-dev-bucket/datasets/grown")
    assert {"order_id", "price", "currency"} <= {one["name"] for one in place.json()["fields"]}
    everything = httpx.get(f"{server.url}/api/v1/datasets", params={"limit": 500}).text
    assert "_headwater_" not in everything
    lineage = place.json().get("columnLineage") or []
    inputs = {field["field"] for column in lineage for field in column["inputFields"]}
    assert {"order_id", "price", "currency"} <= inputs
    assert "offset" not in inputs
    assert "staging" not in everything
    for one in (*readers, source):
        stop(worker, one)
        assert worker.ask("DELETE", f"/connectors/{one}?purge").status_code == 204


def test_values_have_types(worker: WorkerProcess, tmp_path: Path, platform: Platform) -> None:
    plugin = "io.confluent.connect.s3.S3SinkConnector"
    listed = {one["name"]: one for one in worker.get(f"/connector-plugins/{plugin}/config")}
    assert listed["flush.size"]["type"] == "INT"
    assert listed["topics"]["required"]
    assert listed["value.converter.basic.auth.user.info"]["type"] == "PASSWORD"
    wrong = {"topics": "t", "s3.bucket.name": "b", "flush.size": "many", "format.class": "Csv"}
    told = worker.ask("PUT", f"/connector-plugins/{plugin}/config/validate", wrong).json()
    faulty = {one["value"]["name"] for one in told["configs"] if one["value"]["errors"]}
    assert faulty == {"flush.size", "format.class"}
    assert told["error_count"] == 2
    job = {"connector.class": "job", "job.name": "supplier-stats", "job.colour": "red"}
    assert worker.ask("PUT", "/connectors/job/config", job).status_code == 400
    given = {**job, "job.bootstrap": Plain(platform).bootstrap}
    del given["job.colour"]
    body = {"name": "job", "config": given, "initial_state": "PAUSED"}
    assert worker.ask("POST", "/connectors", body).status_code == 201
    eventually(lambda: set(states(worker, "job")) == {"PAUSED"}, LIMIT_S)
    assert "not supported" not in _logs(worker, "job")
    assert worker.ask("PUT", "/connectors/x/config", sink("a", colour="red")).status_code == 201
    eventually(lambda: "colour is not supported" in _logs(worker, "x"), LIMIT_S)


def _logs(worker: WorkerProcess, name: str) -> str:
    lines = worker.get(f"/connectors/{name}/logs")["lines"]
    return "\n".join(str(line["message"]) for line in lines)
