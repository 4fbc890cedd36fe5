"""Takes events from a Kafka topic, as OpenLineage's Kafka transport puts them there.

An offset is committed when everything before it is in the store or on the dead-letter topic.
A batch of messages is kept until that is so: while the store or the broker is away the partitions
are paused, and the consumer polls to stay in its group. After any other error the consumer is
closed, and a new one begins at the last committed offset: some messages are read again, and an
event that is known already is one event.
"""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from headwater.errors import EventRejected, KafkaExtraMissing, StoreError, UsageError
from headwater.openlineage.events import Event
from headwater.server.ingest.dead_letters import DeadLetters
from headwater.server.metrics import CONSUMED, CONSUMERS_PAUSED, DEAD, EVENTS
from headwater.server.store.store import Store

_TOGETHER = 500  # messages that share a commit
_WAIT = 0.5  # seconds for messages to gather
_RETRY = 2.0  # seconds until a store or a broker that is away is tried again
_POLL = 0.2  # seconds between polls of a consumer that waits
_log = logging.getLogger(__name__)


class Topic(NamedTuple):
    """Where events come from; options are those of librdkafka."""

    servers: str
    name: str
    group: str
    dead: str
    options: dict[str, str]

    @classmethod
    def parse(cls, url: str) -> "Topic":
        """Read `kafka://HOST:PORT/TOPIC?group=…&dead=…&option=value`.

        Raises: UsageError.
        """
        parts = urlsplit(url)
        name = unquote(parts.path.strip("/"))
        if parts.scheme != "kafka" or not parts.netloc or not name or "/" in name:
            raise UsageError(
                f"{url!r} names no topic", hint="Write --consume kafka://HOST:PORT/TOPIC"
            )
        options = dict(parse_qsl(parts.query))
        group, dead = options.pop("group", "headwater"), options.pop("dead", f"{name}.dead")
        return cls(parts.netloc, name, group, dead, options)


class TopicReader:
    """A thread that brings the events of one topic into a store."""

    def __init__(self, topic: Topic, store: Store) -> None:
        self._topic, self._store = topic, store
        self._is_ending = threading.Event()
        # A message that the broker did not take in this time is sent again.
        given_up = {"message.timeout.ms": 30_000, "enable.idempotence": True}
        producer = _kafka().Producer({**given_up, **_shared(topic)})
        self._dead = DeadLetters(producer, topic.dead, store.scrubber)
        self._first: _Consumer | None = _Consumer(topic)  # refuses bad options at once
        self._storing = ThreadPoolExecutor(1, f"store events of {topic.name}")
        self._thread = threading.Thread(target=self._run, name=f"topic {topic.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch under way if the store takes it, then end."""
        self._is_ending.set()
        self._thread.join(30)
        self._storing.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        while not self._is_ending.is_set():
            try:
                first, self._first = self._first, None
                with first or _Consumer(self._topic) as consumer:
                    while not self._is_ending.is_set():
                        self._take(consumer, consumer.read())
            except Exception:
                # What was not committed is read again by the next consumer.
                _log.exception("events of %s could not be taken", self._topic.name)
                self._dead.forget()
                self._is_ending.wait(_RETRY)

    def _take(self, consumer: "_Consumer", messages: list[Any]) -> None:
        """See that each message is stored or dead-lettered, then commit their offsets."""
        if not messages:
            return
        stored = self._store_all(consumer, messages)
        if stored is None or not self._settle_dead(consumer):
            return  # it is ending; nothing is committed
        EVENTS.inc(stored)
        CONSUMED.inc(stored)
        DEAD.inc(len(messages) - stored)
        consumer.commit(messages)

    def _store_all(self, consumer: "_Consumer", messages: list[Any]) -> int | None:
        """Store what is in order, dead-letter the rest; tell how many were stored."""
        events: list[Event] = []
        sources: list[Any] = []  # the messages of the events
        for message in messages:
            try:
                events.append(self._store.read(message.value() or b""))
                sources.append(message)
            except EventRejected as error:
                self._bury(message, error)
        refusals = self._have_stored(consumer, events)
        if refusals is None:
            return None
        for message, refusal in zip(sources, refusals, strict=True):
            if refusal is not None:
                self._bury(message, refusal)
        return refusals.count(None)

    def _have_stored(
        self, consumer: "_Consumer", events: list[Event]
    ) -> list[EventRejected | None] | None:
        """Wait until the store has taken or refused each event; None if the server ends before."""
        while True:
            future = self._storing.submit(self._store.ingest_each, events)
            try:
                self._await(consumer, future)
                found = future.result()
            except StoreError as error:
                _log.warning("%s waits for the store: %s", self._topic.name, error.message)
                if self._is_ending.is_set() or not self._pause(consumer):
                    return None
            else:
                consumer.resume()
                return found

    def _await(self, consumer: "_Consumer", future: "Future[Any]") -> None:
        """Wait for the store, and poll meanwhile if it takes long."""
        while True:
            try:
                future.exception(_RETRY)
            except TimeoutError:
                consumer.stay()
            else:
                return

    def _settle_dead(self, consumer: "_Consumer") -> bool:
        """Wait until the broker has the dead letters; whether it has them all."""
        while not self._dead.settle(_RETRY):
            _log.warning("%s: %s", self._topic.dead, self._dead.failure or "waits for the broker")
            if not self._pause(consumer):
                return False
        consumer.resume()
        return True

    def _pause(self, consumer: "_Consumer") -> bool:
        """Wait a while without taking messages; whether to go on."""
        for _ in range(int(_RETRY / _POLL)):
            consumer.stay()
            if self._is_ending.wait(_POLL):
                return False
        return True

    def _bury(self, message: Any, error: EventRejected) -> None:
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        _log.warning("%s is no event: %s", place, self._store.scrubber.text(error.message))
        self._dead.send(message, error.message)


class _Consumer:
    """A consumer of one topic that commits only what it is told to."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        kafka = _kafka()
        self._place, self._error = kafka.TopicPartition, kafka.KafkaException
        self._client = kafka.Consumer(
            {
                "auto.offset.reset": "earliest",
                "allow.auto.create.topics": True,
                **_shared(topic),
                "group.id": topic.group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
            }
        )
        self._is_paused = False
        self._ended: dict[
            tuple[str, int], int
        ] = {}  # up to where each partition is to be committed

    def __enter__(self) -> "_Consumer":
        self._client.subscribe([self._topic.name])
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_paused:
            CONSUMERS_PAUSED.dec()
        self._client.close()

    def read(self) -> list[Any]:
        """The next messages; none where none came for a while."""
        self._commit_ended()
        found = []
        for message in self._client.consume(_TOGETHER, _WAIT):
            if message.error() is None:
                found.append(message)
            elif message.error().fatal():
                raise RuntimeError(str(message.error()))
            else:
                _log.warning("%s: %s", self._topic.name, message.error())
        if not found:
            # A partition that was paused, given to another and given back is still paused.
            self._client.resume(self._client.assignment())
        return found

    def stay(self) -> None:
        """Stay in the group without taking messages."""
        if not self._is_paused:
            self._is_paused = True
            CONSUMERS_PAUSED.inc()
        self._client.pause(self._client.assignment())
        message = self._client.poll(0)
        if message is not None and message.error() is None:
            # Of a partition that was assigned just now: it is read again later.
            self._client.pause(self._client.assignment())
            self._client.seek(self._place(message.topic(), message.partition(), message.offset()))

    def resume(self) -> None:
        """Take messages again."""
        if self._is_paused:
            self._is_paused = False
            CONSUMERS_PAUSED.dec()
            self._client.resume(self._client.assignment())

    def commit(self, messages: list[Any]) -> None:
        """Commit messages; if the broker does not take that now, the next read tries again."""
        self._ended |= {(m.topic(), m.partition()): m.offset() + 1 for m in messages}
        self._commit_ended()

    def _commit_ended(self) -> None:
        if not self._ended:
            return
        ours = {(place.topic, place.partition) for place in self._client.assignment()}
        # Of a partition that is another's by now, the other has read from the last commit on.
        self._ended = {which: end for which, end in self._ended.items() if which in ours}
        places = [self._place(*which, end) for which, end in self._ended.items()]
        try:
            done = self._client.commit(offsets=places, asynchronous=False) if places else []
        except self._error as error:
            _log.warning("offsets of %s could not be committed: %s", self._topic.name, error)
            return
        for place in done:
            if place.error is None:
                self._ended.pop((place.topic, place.partition), None)


def _shared(topic: Topic) -> dict[str, str]:
    return {"bootstrap.servers": topic.servers, **topic.options}


def _kafka() -> Any:
    try:
        import confluent_kafka  # noqa: PLC0415
    except ImportError:
        raise KafkaExtraMissing("kafka") from None
    return confluent_kafka
