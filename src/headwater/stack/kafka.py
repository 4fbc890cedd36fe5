"""Kafka: one broker in KRaft mode."""

import socket
import struct
import uuid
from base64 import urlsafe_b64encode

from headwater.stack.files import write_atomically
from headwater.stack.ports import HOST
from headwater.stack.service import SMALL_JVM, PlatformLayout, Service, Tool

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=4194304
"""

_API_VERSIONS = 18


def cluster_id(number: uuid.UUID) -> str:
    """The id of a new cluster in Kafka's form, which begins with a letter.

    One that began with a dash would be taken for an option of the command that formats the disk.
    """
    first, *others = number.bytes
    # Without the top bit the first of the 22 characters is one of A to Z and a to f.
    return urlsafe_b64encode(bytes([first & 0x7F, *others])).decode().rstrip("=")


def _configuration(layout: PlatformLayout) -> str:
    return str(layout.data("kafka") / "server.properties")


def _prepare(layout: PlatformLayout, run: Tool) -> None:
    logs = layout.data("kafka") / "logs"
    properties = _PROPERTIES.format(
        host=HOST,
        port=layout.ports["kafka"],
        controller=layout.ports["kafka-controller"],
        logs=logs,
    )
    write_atomically(layout.data("kafka") / "server.properties", properties)
    # Formatting writes this file last.
    if not (logs / "meta.properties").exists():
        cluster = cluster_id(uuid.uuid4())
        arguments = ["format", "-t", cluster, "-c", _configuration(layout), "--ignore-formatted"]
        run([*_java(layout), "kafka.tools.StorageTool", *arguments], {})


def _command(layout: PlatformLayout) -> list[str]:
    return [*_java(layout), "kafka.Kafka", _configuration(layout)]


def _java(layout: PlatformLayout) -> list[str]:
    classpath = ":".join(map(str, layout.jars("kafka")))
    logging = "-Dorg.apache.logging.log4j.level=INFO"
    return [layout.java, "-Xms64m", "-Xmx320m", *SMALL_JVM, logging, "-cp", classpath]


def _probe(layout: PlatformLayout) -> None:
    """Ask the broker which requests it knows: the first thing each client does."""
    client = b"headwater"
    header = struct.pack(">hhih", _API_VERSIONS, 0, 1, len(client)) + client
    with socket.create_connection((HOST, layout.ports["kafka"]), timeout=5) as connection:
        connection.sendall(struct.pack(">i", len(header)) + header)
        with connection.makefile("rb") as answer:
            _size, correlation, error = struct.unpack(">iih", answer.read(10))
    if correlation != 1 or error != 0:
        raise ConnectionError(f"the broker answered with error {error}")


KAFKA = Service(
    name="kafka",
    title="Kafka",
    port=9092,
    scheme="",
    sets=("kafka",),
    extra_ports=("kafka-controller",),
    prepare=_prepare,
    command=_command,
    probe=_probe,
)
