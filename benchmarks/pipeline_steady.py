"""The lab at a steady rate: how old what is not written yet is, and when a reader sees it."""

import itertools
import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from pipeline_site import RATE, Site, patiently

SETTLE_S = 15  # until every query has had its first batches
EVERY_S = 5
Three = tuple[float, float, float]


@dataclass
class Steady:
    """What was seen at one period of writing."""

    period_ms: int
    made: float = 0.0
    memory: float = 0.0  # MB, the most of the worker's Python and Java together
    seconds: dict[str, Three] = field(default_factory=dict)
    over_time: list[float] = field(default_factory=list)


@dataclass
class Sample:
    """What everyone had done at one moment."""

    at: float
    rows: int
    positions: dict[str, int]
    memory: float


def measure(site: Site, seconds: float, period_ms: int) -> Steady:
    """Run source, archive, table and windows together on a topic of their own."""
    topic, steady = f"steady{period_ms}", Steady(period_ms)
    names = _deploy(site, topic, period_ms)
    patiently(lambda: site.visible(f"default.{topic}") > 0)
    patiently(lambda: site.count(f"{topic}-stats") > 0)
    time.sleep(SETTLE_S)
    samples = _watched(site, topic, names, seconds)
    for name in (f"{topic}-source", *names.values()):
        site.worker.delete(name)
    stamps = [m.timestamp()[1] / 1000 for m in _records(site, topic)]
    first, last = samples[0], samples[-1]
    began = next(at for at, stamp in enumerate(stamps) if stamp >= first.at)
    ended = sum(stamp <= last.at for stamp in stamps)
    steady.made = (ended - began) / (last.at - first.at)
    steady.memory = max(one.memory for one in samples)
    for what in names:
        lags = [_lag(stamps, one.positions[what], one.at) for one in samples]
        steady.seconds[f"lag of {what}"] = _three(lags)
    steady.seconds["in the table"] = _three(_visible(stamps, samples))
    steady.seconds["in `supplier-stats`"] = _three(_windows(site, f"{topic}-stats", first.at))
    steady.over_time = _worst(stamps, samples)
    print(f"  every {period_ms} ms: {steady}", flush=True)
    return steady


def _deploy(site: Site, topic: str, period_ms: int) -> dict[str, str]:
    source = site.config("orders-source", topic) | {"rows.per.second": str(RATE)}
    archive = site.config("orders-s3-sink", topic)
    sink = site.config("orders-iceberg-sink", topic)
    stats = site.config("supplier-stats", topic)
    archive["rotate.schedule.interval.ms"] = str(period_ms)
    archive["flush.size"] = "100000"
    sink["iceberg.control.commit.interval-ms"] = str(period_ms)
    stats |= {"job.input.topic": topic, "job.output.topic": f"{topic}-stats"}
    site.worker.configure(f"{topic}-source", source)
    names = {"the archive": "archive", "the table": "sink", "the windows": "stats"}
    for name, config in (("archive", archive), ("sink", sink), ("stats", stats)):
        site.worker.configure(f"{topic}-{name}", config)
    return {what: f"{topic}-{name}" for what, name in names.items()}


def _watched(site: Site, topic: str, names: dict[str, str], seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    end = time.time() + seconds
    while time.time() < end:
        positions = {what: site.position(name) for what, name in names.items()}
        rows = site.visible(f"default.{topic}")
        samples.append(Sample(time.time(), rows, positions, site.memory()))
        time.sleep(0.3)
    return samples


def _lag(stamps: list[float], position: int, at: float) -> float:
    return max(0.0, at - stamps[position]) if position < len(stamps) else 0.0


def _visible(stamps: list[float], samples: list[Sample]) -> list[float]:
    """For each order that appeared while one looked: from its timestamp until it was seen."""
    return [
        one.at - stamp
        for before, one in itertools.pairwise(samples)
        for stamp in stamps[before.rows : one.rows]
    ]


def _windows(site: Site, topic: str, since: float) -> list[float]:
    client = SchemaRegistryClient({"url": site.variables["SCHEMA_REGISTRY_URL"]})
    decode, context = AvroDeserializer(client), SerializationContext(topic, MessageField.VALUE)
    found = []
    for message in _records(site, topic):
        at = message.timestamp()[1] / 1000
        if at >= since:
            found.append(at - decode(message.value(), context)["window_end"].timestamp())
    return found


def _worst(stamps: list[float], samples: list[Sample]) -> list[float]:
    worst: dict[int, float] = {}
    for one in samples:
        slot = int((one.at - samples[0].at) / EVERY_S)
        lag = max(_lag(stamps, position, one.at) for position in one.positions.values())
        worst[slot] = max(worst.get(slot, 0.0), lag)
    return [worst[slot] for slot in sorted(worst)]


def _records(site: Site, topic: str) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": site.bootstrap, "group.id": "bench"})
    count, found = site.count(topic), []
    consumer.assign([TopicPartition(topic, 0, 0)])
    while len(found) < count:
        found += [one for one in consumer.consume(10_000, 5) if not one.error()]
    consumer.close()
    return found


def _three(values: list[float]) -> Three:
    found = sorted(values)
    return found[len(found) // 2], found[int(len(found) * 0.95)], found[-1]
