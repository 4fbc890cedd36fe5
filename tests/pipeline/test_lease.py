"""The lease that takes the place of a lock where a worker's state is in an object store."""

import os
import queue
import socket
import uuid
from collections.abc import Callable, Iterator

import msgspec
import pytest
from botocore.exceptions import ClientError
from pyspark.sql import SparkSession

from headwater.errors import StateInUse
from headwater.pipeline.sinks.objects import ObjectStore
from headwater.pipeline.worker.lock import Lease
from pipeline.plain import BUCKET, Plain
from stack.platform import Platform, eventually

Take = Callable[[], Lease]
SHORT = {"lease_s": 3.0, "renew_s": 0.3}


@pytest.fixture
def store(spark: SparkSession, platform: Platform) -> ObjectStore:
    Plain(platform).make_bucket()
    return ObjectStore(spark, BUCKET)


@pytest.fixture
def key() -> str:
    return f"state-{uuid.uuid4().hex}/worker.lease"


@pytest.fixture
def lost() -> "queue.Queue[str]":
    return queue.Queue()


@pytest.fixture
def take(store: ObjectStore, key: str, lost: "queue.Queue[str]") -> Iterator[Take]:
    taken: list[Lease] = []

    def take() -> Lease:
        taken.append(Lease(store, key, "s3://state", lost.put, **SHORT))
        return taken[-1]

    yield take
    for one in taken:
        one.release()


def written_by(host: str, pid: int) -> bytes:
    holder = {"id": uuid.uuid4().hex, "host": host, "pid": pid, "renewed": 0.0}
    return msgspec.json.encode(holder)


def test_a_lease_that_is_renewed_is_refused_to_others_until_it_is_released(take: Take) -> None:
    held = take()
    with pytest.raises(StateInUse, match=f"pid {os.getpid()}"):
        take()
    held.release()
    take()


def test_a_lease_of_another_machine_is_taken_once_it_runs_out(
    take: Take, store: ObjectStore, key: str
) -> None:
    store.put_if(key, written_by("elsewhere", 1), None)
    take()
    with pytest.raises(StateInUse):
        take()


def test_a_lease_of_a_process_that_has_ended_is_taken_at_once(
    store: ObjectStore, key: str, lost: "queue.Queue[str]"
) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    store.put_if(key, written_by(socket.gethostname(), child), None)
    # A lease of an hour: it would wait that long for another machine.
    Lease(store, key, "s3://state", lost.put, lease_s=3600.0, renew_s=0.3).release()


def test_a_holder_that_was_away_too_long_notices_that_another_has_it(
    take: Take, store: ObjectStore, key: str, lost: "queue.Queue[str]"
) -> None:
    take()
    overwritten(store, key, lambda _: written_by("elsewhere", 1))
    assert "another worker has taken the state" in lost.get(timeout=60)


def test_a_renewal_whose_answer_was_lost_is_its_own(
    take: Take, store: ObjectStore, key: str, lost: "queue.Queue[str]"
) -> None:
    take()

    def renewed_at(document: bytes) -> float:
        return float(msgspec.json.decode(document)["renewed"])

    overwritten(store, key, lambda old: msgspec.json.encode(_at(old, 1.0)))
    eventually(lambda: renewed_at(store.read(key)) > 1.0, 60)
    assert lost.empty()


def overwritten(store: ObjectStore, key: str, new: Callable[[bytes], bytes]) -> None:
    """Replace the lease between two renewals of its holder."""

    def replaced() -> bool:
        found = store.tagged(key)
        assert found is not None
        try:
            store.put_if(key, new(found[0]), found[1])
        except ClientError:  # it was renewed in between
            return False
        return True

    eventually(replaced, 60)


def _at(document: bytes, moment: float) -> dict[str, object]:
    return {**msgspec.json.decode(document), "renewed": moment}
