"""One look at the store: a session at one moment of history, and what never changes at hand."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from msgspec import Raw

from headwater.model.names import NodeId
from headwater.model.times import FOREVER
from headwater.server.store.aliases import AliasRules
from headwater.server.store.contents import Field, Mapping, read_fields, read_mapping
from headwater.server.store.database import Database, Session

NOW = FOREVER - 1  # the moment at which the graph is asked for, unless another is given
V = TypeVar("V")


class Kept(Generic[V]):
    """The most recently used of some things that never change."""

    def __init__(self, room: int) -> None:
        self._room, self._items = room, OrderedDict[int, V]()

    def take(self, keys: set[int], load: Callable[[list[int]], dict[int, V]]) -> dict[int, V]:
        """The things with these keys, loading those that are not at hand."""
        missing = [key for key in keys if key not in self._items]
        fresh = load(missing) if missing else {}
        taken = {key: fresh[key] if key in fresh else self._items[key] for key in keys}
        for key, value in fresh.items():
            self._items[key] = value
            if len(self._items) > self._room:
                self._items.popitem(last=False)
        return taken


class Written:
    """Parts of answers by all that they are made from: what did not change is not made again."""

    def __init__(self, room: int) -> None:
        self._room, self._items = room, dict[Any, Any]()

    def get(self, key: Any) -> Any:
        """The part made from these things, if it is at hand."""
        return self._items.get(key)

    def put(self, key: Any, part: V) -> V:
        """Keep a part; the oldest makes room."""
        self._items[key] = part
        while len(self._items) > self._room:
            with contextlib.suppress(KeyError, RuntimeError, StopIteration):  # another was first
                del self._items[next(iter(self._items))]
        return part


class Schema:
    """The fields of a dataset, and how they are written in answers."""

    __slots__ = ("fields", "json", "names", "types")

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields
        self.types = {field.name: field.type or "" for field in fields}
        self.names = self.types.keys()
        self.json = Raw(msgspec.json.encode([field_json(field, []) for field in fields]))


def field_json(field: Field, tags: list[str]) -> dict[str, Any]:
    """A field as answers write it."""
    return {
        "name": field.name,
        "type": field.type,
        "tags": tags,
        "description": field.description,
    }


class IndexedMapping:
    """A column mapping that can be followed both ways."""

    __slots__ = ("dataset", "fed_by", "inputs", "outputs")

    def __init__(self, mapping: Mapping) -> None:
        self.outputs = {output.field: output for output in mapping.outputs}
        self.dataset = mapping.dataset
        self.fed_by: dict[int, dict[str, list[str]]] = {}  # input dataset → field → outputs
        for output in mapping.outputs:
            for given in output.inputs:
                fed = self.fed_by.setdefault(given.dataset, {})
                fed.setdefault(given.field, []).append(output.field)
        self.inputs = self.fed_by.keys() | {given.dataset for given in mapping.dataset}


class Contents:
    """Schemas and mappings at hand; they never change, so that all requests share them."""

    def __init__(self) -> None:
        self.schemas: Kept[Schema] = Kept(4096)
        self.mappings: Kept[IndexedMapping] = Kept(4096)
        self.namespaces: Kept[str] = Kept(4096)
        self.written = Written(16_384)
        self.facets = Written(1024)


class Reading(NamedTuple):
    """A session, the moment asked for, and what is at hand."""

    session: Session
    rules: AliasRules
    contents: Contents
    at: int

    def schemas(self, ids: set[int]) -> dict[int, Schema]:
        """Schemas by id."""

        def load(missing: list[int]) -> dict[int, Schema]:
            rows = self.session.all("SELECT id, fields FROM schema WHERE id = ANY(?)", missing)
            return {row[0]: Schema(read_fields(row[1])) for row in rows}

        return self.contents.schemas.take(ids, load)

    def mappings(self, ids: set[int]) -> dict[int, IndexedMapping]:
        """Mappings by id."""

        def load(missing: list[int]) -> dict[int, IndexedMapping]:
            rows = self.session.all("SELECT id, body FROM mapping WHERE id = ANY(?)", missing)
            return {row[0]: IndexedMapping(read_mapping(row[1])) for row in rows}

        return self.contents.mappings.take(ids, load)

    def namespaces(self, ids: set[int]) -> dict[int, str]:
        """The names of namespaces by id."""

        def load(missing: list[int]) -> dict[int, str]:
            return dict(
                self.session.all("SELECT id, name FROM namespace WHERE id = ANY(?)", missing)
            )

        return self.contents.namespaces.take(ids, load)

    def dataset_id(self, namespace: str, name: str) -> int | None:
        """The dataset that goes by a name, by its root."""
        rows = self.session.all(
            "SELECT r.id FROM dataset d JOIN namespace n ON n.id = d.namespace "
            "JOIN dataset r ON r.id = d.root WHERE n.name = ? AND d.name = ? AND NOT r.hidden",
            self.rules.resolve(namespace), name,
        )  # fmt: skip
        return rows[0][0] if rows else None

    def job_id(self, namespace: str, name: str) -> int | None:
        """The job that goes by a name."""
        rows = self.session.all(
            "SELECT j.id FROM job j JOIN namespace n ON n.id = j.namespace "
            "WHERE n.name = ? AND j.name = ? AND NOT j.hidden", namespace, name,
        )  # fmt: skip
        return rows[0][0] if rows else None

    def find_dataset(self, node: NodeId) -> int | None:
        """The dataset of a node id, wherever its namespace ends."""
        for namespace, name in node.splits():
            found = self.dataset_id(namespace, name)
            if found is not None:
                return found
        return None

    def find_job(self, node: NodeId) -> int | None:
        """The job of a node id, wherever its namespace ends."""
        for namespace, name in node.splits():
            found = self.job_id(namespace, name)
            if found is not None:
                return found
        return None

    def find_field(self, node: NodeId) -> tuple[int, str] | None:
        """The dataset and field of a node id; the longest dataset name that fits is meant."""
        rest, cut = node.rest, len(node.rest)
        while (cut := rest.rfind(":", 0, cut)) > 0:
            dataset = self.find_dataset(NodeId(node.kind, rest[:cut], None))
            if dataset is not None and rest[cut + 1 :]:
                return dataset, rest[cut + 1 :]
        return None

    def has_namespace(self, name: str) -> bool:
        """Whether a namespace is known."""
        sql = "SELECT 1 FROM namespace WHERE name = ?"
        return bool(self.session.all(sql, name))


class Reader:
    """Opens looks at a database, from any thread."""

    def __init__(self, database: Database, rules: AliasRules) -> None:
        self._database, self._rules, self._contents = database, rules, Contents()

    @contextmanager
    def open(self, at: int = NOW) -> Iterator[Reading]:
        """A look at the store, at a moment of its history."""
        with self._database.reading() as session:
            yield Reading(session, self._rules, self._contents, at)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def moment(value: int) -> datetime:
    """A stored moment as answers carry it."""
    return _EPOCH + value * _MICRO


def maybe_moment(value: int | None) -> datetime | None:
    """A stored moment, if there is one."""
    return None if value is None else _EPOCH + value * _MICRO


def uuid_text(value: bytes) -> str:
    """Sixteen bytes as a UUID is written."""
    text = value.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuid_bytes(text: str) -> bytes | None:
    """A UUID's sixteen bytes; None where the text is none."""
    try:
        return UUID(text).bytes
    except ValueError:
        return None
