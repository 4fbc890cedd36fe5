"""The schemas of topics: subjects, their versions, and the fields of each."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from headwater.api.topics import SchemaField, SchemaVersion, Subject, SubjectVersions
from headwater.capture.datasets.registry import parse
from headwater.schemas.registry import Registry, Schema
from headwater.server.topics.kafka_clusters import KafkaCluster

_PATIENCE = 5.0
_MOST = 200  # subjects whose versions are counted for a list
_NEWEST = 20  # versions of a subject that are told
_AT_ONCE = 8
_SIDES = ("value", "key")


class Schemas:
    """What a cluster's schema registry knows of its topics."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._client = httpx.Client(timeout=_PATIENCE)
        self.registry = Registry(cluster.registry, cluster.registry_auth, self._client)

    def of_topics(self, topics: list[str]) -> dict[str, list[Subject]]:
        """The subjects of each topic, with how many versions they have.

        Raises: RegistryRefused.
        """
        known = set(self.registry.subjects())
        found = {topic: [one for one in _names(topic) if one in known] for topic in topics}
        names = [name for one in found.values() for name in one]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            counted = pool.map(lambda name: len(self.registry.numbers(name)), names[:_MOST])
            counts = dict(zip(names[:_MOST], counted, strict=True))
        return {
            topic: [Subject(name, counts.get(name)) for name in one] for topic, one in found.items()
        }

    def of_topic(self, topic: str) -> list[SubjectVersions]:
        """The subjects of a topic with the newest of their versions.

        Raises: RegistryRefused.
        """
        found = []
        for name in _names(topic):
            numbers = self.registry.numbers(name)[-_NEWEST:]
            versions = [_version(one, self.registry.version(name, one)) for one in numbers]
            if versions:
                found.append(SubjectVersions(name, versions[::-1]))
        return found

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


def _names(topic: str) -> list[str]:
    return [f"{topic}-{side}" for side in _SIDES]


def _version(number: int, schema: Schema) -> SchemaVersion:
    fields = [
        one for field in parse(schema.text, schema.kind) for one in _flat(field.name, field.type)
    ]
    return SchemaVersion(number, schema.id, schema.kind, _pretty(schema), fields)


def _flat(name: str, kind: Any) -> list[SchemaField]:
    """A field and those inside it, so that what changed inside is told too."""
    if not isinstance(kind, dict):
        return [SchemaField(name, str(kind or ""))]
    if kind.get("type") == "struct":
        inner = [one for f in kind["fields"] for one in _flat(f"{name}.{f['name']}", f["type"])]
        return [SchemaField(name, "struct"), *inner]
    if kind.get("type") == "map":
        return [SchemaField(name, "map"), *_flat(f"{name}.*", kind.get("valueType"))]
    return [SchemaField(name, "array"), *_flat(f"{name}[]", kind.get("elementType"))]


def _pretty(schema: Schema) -> str:
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except ValueError:
        return schema.text
