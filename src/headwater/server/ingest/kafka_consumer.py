"""Takes events from a Kafka topic, as OpenLineage's Kafka transport puts them there.

Offsets are committed when the store has the events on disk: after a crash some are read again,
and an event that is known already is one event. What is no event goes to a dead-letter topic.
"""

import logging
import threading
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from headwater.errors import EventRejected, KafkaExtraMissing, StoreError, UsageError
from headwater.openlineage.events import Event
from headwater.server.metrics import CONSUMED, DEAD, EVENTS
from headwater.server.store.store import Store

_TOGETHER = 500  # messages that share a commit
_WAIT = 0.5  # seconds for messages to gather
_AGAIN = 2.0  # seconds until a store that does not answer is tried again
_LARGEST = 900_000  # bytes of a bad message that the dead-letter topic takes
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
                f"{url!r} is not the address of a topic",
                hint="Write --consume kafka://HOST:PORT/TOPIC",
            )
        options = dict(parse_qsl(parts.query))
        group, dead = options.pop("group", "headwater"), options.pop("dead", f"{name}.dead")
        return cls(parts.netloc, name, group, dead, options)


class TopicReader:
    """A thread that brings the events of one topic into a store."""

    def __init__(self, topic: Topic, store: Store) -> None:
        self._topic, self._store = topic, store
        self._is_ending = threading.Event()
        self._consumer, self._producer = _clients(topic)
        self._thread = threading.Thread(target=self._run, name=f"topic {topic.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._consumer.subscribe([self._topic.name])
        self._thread.start()

    def stop(self) -> None:
        """Finish what was taken, then end."""
        self._is_ending.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._is_ending.is_set():
            try:
                messages = self._consumer.consume(_TOGETHER, _WAIT)
                if messages:
                    self._take(messages)
            except Exception:
                # Nothing was committed: what was taken comes again.
                _log.exception("events of %s could not be consumed", self._topic.name)
                self._is_ending.wait(_AGAIN)
        self._consumer.close()

    def _take(self, messages: list[Any]) -> None:
        events: list[Event] = []
        for message in messages:
            if message.error():
                _log.warning("%s: %s", self._topic.name, message.error())
                continue
            try:
                events.append(self._store.read(message.value() or b""))
            except EventRejected as error:
                self._bury(message, error)
        if self._put(events):
            self._producer.flush()
            self._consumer.commit(asynchronous=False)

    def _put(self, events: list[Event]) -> bool:
        """Have events on disk, however long the store takes to answer; whether they are."""
        while True:
            try:
                self._store.ingest(events).result()
            except StoreError as error:
                _log.warning("%s waits for the store: %s", self._topic.name, error.message)
                if self._is_ending.wait(_AGAIN):
                    return False
            else:
                EVENTS.inc(len(events))
                CONSUMED.inc(len(events))
                return True

    def _bury(self, message: Any, error: EventRejected) -> None:
        """Put a bad message where someone can look at it, with the reason."""
        DEAD.inc()
        reason = self._store.scrubber.text(error.message)
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        _log.warning("%s is not a valid event: %s", place, reason)
        text = (message.value() or b"")[:_LARGEST].decode(errors="replace")
        self._producer.produce(
            self._topic.dead,
            self._store.scrubber.message(text.encode()),
            key=message.key(),
            headers={"reason": reason, "from": place},
        )
        self._producer.poll(0)


def _clients(topic: Topic) -> tuple[Any, Any]:
    try:
        from confluent_kafka import Consumer, Producer  # noqa: PLC0415
    except ImportError:
        raise KafkaExtraMissing from None
    shared = {"bootstrap.servers": topic.servers, **topic.options}
    consumer = Consumer(
        {
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "allow.auto.create.topics": True,
            **shared,
            "group.id": topic.group,
        }
    )
    return consumer, Producer({"enable.idempotence": True, **shared})
