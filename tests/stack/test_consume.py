"""Events from a real broker: each once, whatever happens to the server."""

import json
import signal
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from server.process import ServerProcess
from stack.platform import Platform, eventually

_EVENTS = 3000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    platform = Platform(tmp_path_factory.mktemp("broker"))
    platform.up("--only", "kafka")
    try:
        yield platform.service("kafka")["address"].rpartition("/")[2]
    finally:
        platform.run("down")


def _event(number: int) -> bytes:
    return json.dumps({
        "eventType": "COMPLETE", "eventTime": "2026-03-02T08:00:00Z",
        "producer": "https://example.org/p", "run": {"runId": str(uuid.UUID(int=number + 1))},
        "job": {"namespace": "jobs", "name": f"job-{number % 7}"},
        "inputs": [{"namespace": "db", "name": "t"}],
    }).encode()  # fmt: skip


def test_a_server_killed_five_times_has_every_event_once(broker: str, tmp_path: Path) -> None:
    topic = f"lineage-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker})
    bad = [b"not JSON", b'{"password": "hunter2", "eventTime": "never"}', b""]
    for number in range(_EVENTS):
        producer.produce(topic, _event(number))
        if number % 1000 == 500:
            producer.produce(topic, bad[number // 1000])
    producer.flush()
    url = f"sqlite:///{tmp_path / 'store.db'}"
    options = ("--consume", f"kafka://{broker}/{topic}?session.timeout.ms=6000")
    server = ServerProcess(url, tmp_path / "log", *options)
    with server:
        for kill in range(1, 6):
            # Killed somewhere in the middle of what it takes, before it has committed it all.
            eventually(partial(_has, server, kill * 20), 120)
            server.end(signal.SIGKILL)
            for number in range(_EVENTS + 100 * (kill - 1), _EVENTS + 100 * kill):
                producer.produce(topic, _event(number))
            producer.flush()
            server.start()
        eventually(lambda: server.api.event_count() >= _EVENTS + 500, 180)
        # One more, after which no earlier one can come: a second copy would be counted too.
        producer.produce(topic, _event(_EVENTS + 500))
        producer.flush()
        eventually(lambda: server.api.event_count() > _EVENTS + 500, 180)
        assert server.api.event_count() == _EVENTS + 501
        runs = server.api.get("/namespaces/jobs/jobs/job-0/runs", limit=10_000)["runs"]
        assert len({run["id"] for run in runs}) == len(runs) == len(range(0, _EVENTS + 501, 7))
    dead = _read(broker, f"{topic}.dead", 3)
    values = {value for value, _ in dead}
    assert b"not JSON" in values
    assert not any(b"hunter2" in value for value in values)
    reasons = {value: headers["reason"].decode() for value, headers in dead}
    assert "not JSON" in reasons[b"not JSON"]
    assert dead[0][1]["from"].decode().startswith(f"{topic}/0/")
    assert "hunter2" not in server.log()


def _has(server: ServerProcess, least: int) -> bool:
    return server.api.event_count() > least


def _read(broker: str, topic: str, count: int) -> list[tuple[bytes, dict[str, bytes]]]:
    consumer = Consumer({
        "bootstrap.servers": broker, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.subscribe([topic])
    found: dict[bytes, dict[str, bytes]] = {}

    def are_all_here() -> bool:
        message = consumer.poll(1)
        if message is not None and not message.error():
            found[message.value() or b""] = {
                name: bytes(value or b"") if not isinstance(value, str) else value.encode()
                for name, value in [*(message.headers() or ())]
            }
        return len(found) >= count

    eventually(are_all_here, 60)
    consumer.close()
    return [*found.items()]
