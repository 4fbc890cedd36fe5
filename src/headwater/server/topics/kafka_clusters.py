"""The Kafka clusters that the server was told of."""

from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from headwater.errors import UsageError

_HINT = "Write --kafka NAME=HOST:PORT?registry=URL, e.g. --kafka lab=127.0.0.1:9092"


class KafkaCluster(NamedTuple):
    """Where a cluster and its schema registry are; options are those of librdkafka."""

    name: str
    servers: str
    registry: str
    registry_auth: str
    options: dict[str, str]

    @classmethod
    def parse(cls, told: str) -> "KafkaCluster":
        """Read `NAME=HOST:PORT,HOST:PORT?registry=URL&registry.auth=USER:PASSWORD&option=value`.

        Raises: UsageError.
        """
        name, equals, address = told.partition("=")
        parts = urlsplit(address if "://" in address.partition("?")[0] else f"kafka://{address}")
        options = dict(parse_qsl(parts.query))
        registry = options.pop("registry", "")
        if not equals or not name or "/" in name or parts.scheme != "kafka" or not parts.netloc:
            raise UsageError(f"{name!r} is not a Kafka cluster", hint=_HINT)
        if registry and not registry.startswith(("http://", "https://")):
            raise UsageError(f"the schema registry of {name!r} has no address", hint=_HINT)
        return cls(name, parts.netloc, registry, options.pop("registry.auth", ""), options)


def parse_kafka_clusters(told: list[str]) -> tuple[KafkaCluster, ...]:
    """The clusters that `--kafka` names, each once.

    Raises: UsageError.
    """
    return tuple({cluster.name: cluster for cluster in map(KafkaCluster.parse, told)}.values())
