"""Messages of a topic are stored or dead-lettered, whatever fails while they are consumed.

A topic of three partitions is consumed by two servers on one PostgreSQL. Good and odd messages
arrive while one thing after another fails: the database is read-only, its sessions are ended, the
broker and a server are killed, a server stands still until the group gives up on it. At every
moment all that lies before a committed offset must be stored or dead-lettered.
"""

import json
import os
import random
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from server.process import ServerProcess
from server.stores import Stores, open_stores
from server.test_durability import stored
from stack.platform import Platform, eventually

_ROUNDS = int(os.environ.get("HEADWATER_FUZZ", "1"))  # each has every fault once
_MESSAGES = 150  # sent before each fault, and again during it
_PARTITIONS = 3
Place = tuple[int, int]  # partition and offset


def _event(number: int, job: str = "job", **more: Any) -> bytes:
    run = {"runId": str(uuid.UUID(int=number + 1)), **more}
    return json.dumps({
        "eventType": "COMPLETE", "eventTime": "2026-03-02T08:00:00Z",
        "producer": "https://example.org/p", "run": run,
        "job": {"namespace": "jobs", "name": f"{job}-{number % 7}"},
        "inputs": [{"namespace": "db", "name": "t"}],
    }).encode()  # fmt: skip


def _odd(number: int, chance: random.Random) -> bytes:
    """A message that is no event, or one that the store refuses."""
    return chance.choice([
        b"not JSON %d" % number,
        b'{"eventTime": "never", "number": %d}' % number,
        b"\xff\xfe %d" % number,
        b"[" * 5000 + b"%d" % number,
        _event(number, facets={"headwater_lease": {"seconds": "soon"}}),
        _event(number, job="poison"),
    ])  # fmt: skip


class Lab:
    """A broker, a database and two servers that consume from one to the other."""

    def __init__(self, platform: Platform, stores: Stores, folder: Path) -> None:
        self._platform, self.folder = platform, folder
        self.broker = platform.service("kafka")["address"].rpartition("/")[2]
        self.store = stores.new("postgresql")
        self.topic, self.group = (f"{kind}-{uuid.uuid4().hex[:8]}" for kind in ("events", "group"))
        self.admin = AdminClient({"bootstrap.servers": self.broker})
        new = [NewTopic(name, _PARTITIONS) for name in (self.topic, f"{self.topic}.dead")]
        for done in self.admin.create_topics(new).values():
            done.result(60)
        self.producer = Producer({"bootstrap.servers": self.broker, "enable.idempotence": True})
        self.good: dict[Place, bytes] = {}
        self.bad: dict[Place, bytes] = {}
        self.dead: dict[Place, str] = {}
        self._tail = Consumer({
            "bootstrap.servers": self.broker, "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
        })  # fmt: skip
        self._tail.subscribe([f"{self.topic}.dead"])
        # For the offsets alone: it takes no part in the group.
        self._group = Consumer({"bootstrap.servers": self.broker, "group.id": self.group})
        self.numbers = iter(range(10**9))

    def server(self, name: str) -> ServerProcess:
        url = f"kafka://{self.broker}/{self.topic}?group={self.group}&session.timeout.ms=10000"
        return ServerProcess(self.store, self.folder / name, "--consume", url)

    def send(self, count: int, chance: random.Random) -> None:
        """Send good messages with an odd one among them now and then."""
        for _ in range(count):
            number = next(self.numbers)
            is_odd = chance.random() < 0.1
            body = _odd(number, chance) if is_odd else _event(number)
            where = number % _PARTITIONS
            self.producer.produce(self.topic, body, partition=where, on_delivery=self._note(is_odd))
        assert self.producer.flush(120) == 0

    def _note(self, is_odd: bool) -> Callable[[Any, Any], None]:
        def delivered(error: Any, message: Any) -> None:
            assert error is None, error
            kept = self.bad if is_odd else self.good
            kept[message.partition(), message.offset()] = message.value()

        return delivered

    def sql(self, *statements: str) -> None:
        with psycopg.connect(self.store, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            for statement in statements:
                connection.execute(statement.encode())

    def committed(self) -> dict[int, int]:
        """The committed offset of each partition."""
        asked = [TopicPartition(self.topic, number) for number in range(_PARTITIONS)]
        try:
            return {p.partition: max(p.offset, 0) for p in self._group.committed(asked, 10)}
        except KafkaException:  # the broker is on its way back
            return {}

    def members(self) -> int:
        found = self.admin.describe_consumer_groups([self.group])[self.group].result(30)
        return len(found.members) if found.state == ConsumerGroupState.STABLE else 0

    def restart_broker(self) -> None:
        before = self._platform.service("kafka")["pid"]
        psutil.Process(before).kill()

        def is_back() -> bool:
            now = self._platform.service("kafka")
            return bool(now["status"] == "healthy" and now["pid"] != before)

        eventually(is_back, 120)

    def check(self) -> None:
        """Everything before a committed offset is stored, or on the dead-letter topic."""
        offsets = self.committed()
        bodies = stored(self.store)

        def missing() -> list[Place]:
            return [p for p in self.bad if p[1] < offsets.get(p[0], 0) and p not in self.dead]

        lost = [p for p, b in self.good.items() if p[1] < offsets.get(p[0], 0) and b not in bodies]
        assert not lost, f"{len(lost)} committed events are not stored: {sorted(lost)[:5]}"
        eventually(lambda: self._read_dead() and not missing(), 120)

    def _read_dead(self) -> bool:
        """Read on in the dead letters."""
        for message in self._tail.consume(500, 1):
            if message.error() is None:
                headers: Any = message.headers()
                told = {name: value.decode() for name, value in headers}
                topic, partition, offset = told["from"].split("/")
                assert topic == self.topic
                self.dead[int(partition), int(offset)] = told["reason"]
        return True

    def is_done(self) -> bool:
        """Whether everything that was sent is committed."""
        ends: dict[int, int] = {}
        for partition, offset in [*self.good, *self.bad]:
            ends[partition] = max(ends.get(partition, 0), offset + 1)
        return self.committed() == ends

    def close(self) -> None:
        self._tail.close()
        self._group.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    platform = Platform(tmp_path_factory.mktemp("broker"))
    with ExitStack() as ending:
        ending.callback(platform.run, "down")
        platform.up("--only", "kafka")
        stores = ending.enter_context(open_stores())
        found = Lab(platform, stores, tmp_path_factory.mktemp("servers"))
        ending.callback(found.close)
        yield found


def _read_only(lab: Lab, one: ServerProcess, chance: random.Random) -> None:
    reload = "SELECT pg_reload_conf()"
    lab.sql("ALTER SYSTEM SET default_transaction_read_only = on", reload)
    lab.send(_MESSAGES, chance)
    eventually(lambda: one.api.client.get("/ready").status_code == 503, 60)
    lab.check()
    lab.sql("ALTER SYSTEM SET default_transaction_read_only = off", reload)
    eventually(lambda: one.api.client.get("/ready").status_code == 200, 60)


def _end_sessions(lab: Lab, one: ServerProcess, chance: random.Random) -> None:
    for _ in range(5):
        lab.send(_MESSAGES // 5, chance)
        lab.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'headwater'"
        )


def _kill_server(lab: Lab, one: ServerProcess, chance: random.Random) -> None:
    one.end(signal.SIGKILL)
    lab.send(_MESSAGES, chance)
    lab.check()
    one.start()


def _kill_broker(lab: Lab, one: ServerProcess, chance: random.Random) -> None:
    lab.restart_broker()
    lab.send(_MESSAGES, chance)


def _stand_still(lab: Lab, one: ServerProcess, chance: random.Random) -> None:
    """Stop a server until its partitions are another's, and let it go on with its batch."""
    assert one.process is not None
    one.process.send_signal(signal.SIGSTOP)
    lab.send(_MESSAGES, chance)
    eventually(lambda: lab.members() == 1)
    one.process.send_signal(signal.SIGCONT)
    eventually(lambda: lab.members() == 2, 300)


_FAULTS = (_read_only, _end_sessions, _kill_server, _kill_broker, _stand_still)


def test_nothing_is_skipped_lost_or_stored_twice(
    lab: Lab, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(11)
    with lab.server("one") as one, lab.server("two") as two:
        lab.sql("ALTER TABLE job ADD CONSTRAINT no_poison CHECK (name NOT LIKE 'poison%')")
        for _ in range(_ROUNDS):
            for fault in chance.sample(_FAULTS, len(_FAULTS)):
                lab.send(_MESSAGES, chance)
                fault(lab, chance.choice([one, two]), chance)
                lab.check()
        eventually(lab.is_done, 240)
        lab.check()
        assert stored(lab.store) == {*lab.good.values()}
        assert one.api.event_count() == len(lab.good)
    assert lab.dead.keys() == lab.bad.keys()
    for place, body in lab.bad.items():
        expected = "poison" if b"poison" in body else ""
        assert lab.dead[place], place
        assert expected in lab.dead[place]
    record_property("messages", len(lab.good) + len(lab.bad))
    record_property("dead letters", len(lab.bad))
