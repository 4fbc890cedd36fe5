"""A connector's configuration: Kafka Connect's keys, checked before anything starts."""

from collections.abc import Mapping

import msgspec

from headwater.errors import BadConfig
from headwater.pipeline.keys import Kind as Kind
from headwater.pipeline.keys import faults as key_faults
from headwater.pipeline.keys import find
from headwater.pipeline.secrets import resolve

CLASSES: Mapping[str, Kind] = {
    "com.amazonaws.mskdatagen.GeneratorSourceConnector": Kind.GENERATOR,
    "GeneratorSourceConnector": Kind.GENERATOR,
    "io.confluent.connect.s3.S3SinkConnector": Kind.S3_SINK,
    "S3SinkConnector": Kind.S3_SINK,
    "io.tabular.iceberg.connect.IcebergSinkConnector": Kind.ICEBERG_SINK,
    "org.apache.iceberg.connect.IcebergSinkConnector": Kind.ICEBERG_SINK,
    "IcebergSinkConnector": Kind.ICEBERG_SINK,
    **{kind.value: kind for kind in Kind},
}
_PARTS = ("value", "key")


class ConnectorConfig(msgspec.Struct, frozen=True):
    """A connector's name, kind and keys; secrets are looked up when a key is read."""

    name: str
    kind: Kind
    values: Mapping[str, str]
    environ: Mapping[str, str]

    def __repr__(self) -> str:  # what a log may show: never the environment
        return f"ConnectorConfig({self.name!r}, {self.kind.value!r})"

    def get(self, key: str, default: str = "") -> str:
        """One key's text, its secrets resolved."""
        return resolve(self.values[key], self.environ) if key in self.values else default

    def number(self, key: str) -> int:
        """One key as a whole number; 0 if neither the configuration nor the schema has one."""
        return int(self.get(key) or self._default(key) or 0)

    def flag(self, key: str) -> bool:
        """One key as true or false."""
        return (self.get(key) or self._default(key)).strip().lower() == "true"

    def names(self, key: str) -> tuple[str, ...]:
        """One key as a list of names."""
        return tuple(name for part in self.get(key).split(",") if (name := part.strip()))

    def under(self, prefix: str) -> dict[str, str]:
        """The keys below a prefix, without it."""
        return {
            key.removeprefix(prefix): self.get(key) for key in self.values if key.startswith(prefix)
        }

    def under_keys(self, prefix: str) -> tuple[str, ...]:
        """The keys below a prefix, as they are."""
        return tuple(key for key in self.values if key.startswith(prefix))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The keys that mean nothing to this kind of connector."""
        return tuple(key for key in self.values if find(self.kind, key) is None)

    @property
    def lineage(self) -> dict[str, str]:
        """What the configuration itself says about lineage."""
        return self.under("transforms.openlineage.")

    def dataset_options(self, topic: str) -> dict[str, str]:
        """Options that name a sink's dataset as the configuration asks: by names, or the topic."""
        told = self.lineage
        if not told.get("dataset.namespace") and not told.get("dataset.names"):
            return {}
        names = self.names("transforms.openlineage.dataset.names")
        topics = self.names("transforms.openlineage.topics") or (topic,)
        position = topics.index(topic) if topic in topics else 0
        name = names[position] if position < len(names) else topic
        return {
            "headwater.dataset.namespace": told.get("dataset.namespace", ""),
            "headwater.dataset.name": name,
        }

    def registry_options(self) -> dict[str, str]:
        """Options that tell where lineage finds schemas of topics, if the configuration does."""
        told, options = self.lineage, {}
        url, login = (
            next((told[key] for part in _PARTS if told.get(key := f"{part}.converter.{name}")), "")
            for name in ("schema.registry.url", "basic.auth.user.info")
        )
        if url:
            options["headwater.registry.url"] = url
        if url and login:
            options["headwater.registry.password"] = login
        read = {part: told.get(f"{part}.converter.schema.read") for part in _PARTS}
        if any(read.values()):
            wanted = [part for part, value in read.items() if value != "false"]
            options["headwater.registry.read"] = ",".join(wanted)
        return options

    def _default(self, key: str) -> str:
        schema = find(self.kind, key)
        return (schema.default if schema else None) or ""

    @property
    def tolerant(self) -> bool:
        """Whether a bad record is passed over instead of failing the connector."""
        return self.get("errors.tolerance", "none") == "all"


def parse(name: str, values: Mapping[str, object], environ: Mapping[str, str]) -> ConnectorConfig:
    """A configuration that can be started.

    Raises:
        BadConfig: a key is missing, contradicts another, or has a value that cannot be used.

    """
    texts = {
        key: value if isinstance(value, str) else _text(value) for key, value in values.items()
    }
    faults = check(texts)
    if "name" in texts and texts["name"] != name:
        faults["name"] = f"differs from the connector's name {name!r}"
    if faults:
        raise BadConfig(name, faults)
    return ConnectorConfig(name, CLASSES[texts["connector.class"]], texts, environ)


def check(values: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with a configuration, by key; nothing when it can start."""
    given = values.get("connector.class", "")
    if given not in CLASSES:
        reason = f"{given!r} is none of {', '.join(kind.value for kind in Kind)}"
        return {"connector.class": reason if given else "is missing"}
    kind = CLASSES[given]
    faults = key_faults(kind, values) | _errors(values) | _transforms(values)
    return {**_OWN[kind](values), **faults}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _errors(values: Mapping[str, str]) -> dict[str, str]:
    tolerance = values.get("errors.tolerance", "none")
    letters = "errors.deadletterqueue.topic.name"
    if values.get(letters) and tolerance == "none":
        return {letters: "contradicts errors.tolerance=none, which passes over no record"}
    return {}


def _transforms(values: Mapping[str, str]) -> dict[str, str]:
    aliases = [alias.strip() for alias in values.get("transforms", "").split(",") if alias.strip()]
    return {
        f"transforms.{alias}.type": "is missing"
        for alias in aliases
        if not values.get(f"transforms.{alias}.type")
    }


def _generator(values: Mapping[str, str]) -> dict[str, str]:
    if not any(key.startswith("genv.") for key in values):
        return {"genv.TOPIC.FIELD.with": "is missing: no topic has a field"}
    faults = {}
    for key, value in values.items():
        if key.startswith("genv.") and key.endswith(".matching"):
            topic, _, field = value.partition(".value.")
            wanted = f"genv.{topic}.{field}"
            if f"{wanted}.with" not in values and f"{wanted}.matching" not in values:
                faults[key] = f"{value!r} is no TOPIC.value.FIELD of this connector"
            if f"{key.removesuffix('.matching')}.with" in values:
                faults[key] = "contradicts the .with of the same field"
    return faults


def _s3(values: Mapping[str, str]) -> dict[str, str]:
    partitioner = values.get("partitioner.class", "")
    if "FieldPartitioner" in partitioner and not values.get("partition.field.name"):
        return {"partition.field.name": "is missing, and the FieldPartitioner needs it"}
    if partitioner.endswith("TimeBasedPartitioner") and not values.get("path.format"):
        return {"path.format": "is missing, and the TimeBasedPartitioner needs it"}
    if values.get("timestamp.extractor") == "RecordField" and not values.get("timestamp.field"):
        return {"timestamp.field": "is missing, and the extractor RecordField needs it"}
    return {}


def _iceberg(values: Mapping[str, str]) -> dict[str, str]:
    tables = [table.strip() for table in values.get("iceberg.tables", "").split(",")]
    topics = [topic.strip() for topic in values.get("topics", "").split(",")]
    if len(tables) < 2 or values.get("iceberg.tables.route-field"):
        return {}
    lost = [topic for topic in topics if topic not in {t.rpartition(".")[2] for t in tables}]
    reason = f"has no table named after {', '.join(lost)}, and there is no route-field"
    return {"iceberg.tables": reason} if lost else {}


def _job(values: Mapping[str, str]) -> dict[str, str]:
    return {
        key: "is no setting of a job"
        for key in values
        if key.startswith("job.") and find(Kind.JOB, key) is None
    }


_OWN = {
    Kind.GENERATOR: _generator,
    Kind.S3_SINK: _s3,
    Kind.ICEBERG_SINK: _iceberg,
    Kind.JOB: _job,
}
