"""A view of the store: a session at one moment of history, with caches of what never changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw

from headwater.openlineage.facets import Facets
from headwater.openlineage.names import NodeId
from headwater.openlineage.times import FOREVER
from headwater.server.lineage.budget import Budget
from headwater.server.lineage.cache import BoundedCache
from headwater.server.lineage.indexed_mapping import IndexedMapping
from headwater.server.lineage.metering import MeteredSession, pack
from headwater.server.lineage.names import Names, PastNames
from headwater.server.lineage.node_lookup import NodeLookup
from headwater.server.lineage.scope import Scope
from headwater.server.lineage.spelling import Spelling
from headwater.server.store.aliases import AliasRules
from headwater.server.store.compression import content_size
from headwater.server.store.contents import Field, read_fields, read_mapping
from headwater.server.store.database import Database, Row, Session
from headwater.server.store.log import each_body

_FIELD = 400  # bytes that a field takes in memory, about
_LARGEST = 8 * 2**20  # bytes of a schema or mapping that is kept
NOW = FOREVER - 1  # the moment at which the graph is asked for, unless another is given


class Schema:
    """The fields of a dataset, and how they are written in answers."""

    __slots__ = ("fields", "json", "names", "size", "types")

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields
        self.types = {field.name: field.type or "" for field in fields}
        self.names = self.types.keys()
        self.json = Raw(msgspec.json.encode([field_json(field, []) for field in fields]))
        self.size = len(memoryview(self.json)) + _FIELD * len(fields)


def field_json(field: Field, tags: list[str]) -> dict[str, Any]:
    """A field as answers write it."""
    return {
        "name": field.name,
        "type": field.type,
        "tags": tags,
        "description": field.description,
    }


def facets_size(wanted: Any, facets: Facets) -> int:
    """How many bytes facets take with what they were asked for by, about."""
    return (
        500
        + len(pack(wanted))
        + sum(len(name) + len(memoryview(raw)) for name, raw in facets.items())
    )


def node_size(key: bytes, node: Any) -> int:
    """How many bytes the data of a node take with the rows they were written from, about."""
    return 500 + len(key) + len(memoryview(node if isinstance(node, Raw) else node.fields))


class Contents:
    """Schemas and mappings at hand; they never change, so that all requests share them."""

    def __init__(self) -> None:
        self.schemas: BoundedCache[int, Schema] = BoundedCache(
            32 * 2**20, lambda _, schema: schema.size, _LARGEST
        )
        self.mappings: BoundedCache[int, IndexedMapping] = BoundedCache(
            32 * 2**20, lambda _, mapping: mapping.size, _LARGEST
        )
        self.namespaces: BoundedCache[int, str] = BoundedCache(
            2**20, lambda _, name: 100 + len(name)
        )
        self.nodes: BoundedCache[bytes, Any] = BoundedCache(64 * 2**20, node_size)
        self.facets: BoundedCache[Any, Facets] = BoundedCache(16 * 2**20, facets_size)
        self.turn = Lock()  # to make a large answer
        self.spelling = Spelling()


class StoreView:
    """The store at one moment: a session, the names of datasets then, and shared caches.

    With `namespaces`, it is limited to those that begin with one of these texts (`scope`).
    """

    __slots__ = ("at", "budget", "contents", "log", "names", "rules", "scope", "session")

    def __init__(
        self,
        session: Session,
        rules: AliasRules,
        contents: Contents,
        at: int,
        budget: Budget,
        log: Session | None = None,
        namespaces: tuple[str, ...] = (),
    ) -> None:
        self.session, self.rules, self.contents = session, rules, contents
        # For bodies of events, of which few are held at once and which have a budget of their own.
        self.log = log or session
        self.at, self.budget = at, budget
        self.scope = Scope(session, namespaces)
        is_past = self.is_past
        self.names = PastNames(session, self.scope, at) if is_past else Names(session, self.scope)

    @property
    def is_past(self) -> bool:
        """Whether the moment is an earlier one than now."""
        return self.at < NOW

    def at_moment(self, at: int) -> "StoreView":
        """The same store at another moment."""
        return StoreView(
            self.session, self.rules, self.contents, at, self.budget, self.log, self.scope.prefixes
        )

    def schemas(self, ids: set[int]) -> dict[int, Schema]:
        """Schemas by id."""

        def load(missing: list[int]) -> dict[int, Schema]:
            rows = self.session.all("SELECT id, fields FROM schema WHERE id = ANY(?)", missing)
            return {row[0]: Schema(read_fields(self._allowed(row[1]))) for row in rows}

        return self.contents.schemas.take(ids, load)

    def mappings(self, ids: set[int]) -> dict[int, IndexedMapping]:
        """Mappings by id."""

        def load(missing: list[int]) -> dict[int, IndexedMapping]:
            rows = self.session.all("SELECT id, body FROM mapping WHERE id = ANY(?)", missing)
            return {row[0]: IndexedMapping(read_mapping(self._allowed(row[1]))) for row in rows}

        return self.contents.mappings.take(ids, load)

    def _allowed(self, packed: bytes) -> bytes:
        self.budget.decode_contents(content_size(packed))
        return packed

    def bodies(self, seqs: list[int]) -> Iterator[tuple[int, bytes | None]]:
        """Events in order with their bodies; None where the answer may open no more."""
        return each_body(self.log, seqs, self.budget.open_events)

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
            "SELECT d.id, d.root FROM dataset d JOIN namespace n ON n.id = d.namespace "
            "JOIN dataset r ON r.id = d.root WHERE n.name = ? AND d.name = ? AND NOT r.hidden "
            "AND d.created_at <= ?", self.rules.resolve(namespace), name, self.at,
        )  # fmt: skip
        return self._root_of(rows[0]) if rows else None

    def job_id(self, namespace: str, name: str) -> int | None:
        """The job that goes by a name."""
        rows = self.session.all(
            "SELECT j.id FROM job j JOIN namespace n ON n.id = j.namespace "
            "WHERE n.name = ? AND j.name = ? AND NOT j.hidden AND j.created_at <= ?",
            namespace, name, self.at,
        )  # fmt: skip
        return rows[0][0] if rows else None

    def find_dataset(self, node: NodeId) -> int | None:
        """The dataset of a node id, wherever its namespace ends."""
        row = self._lookup.find_dataset(node)
        return None if row is None else self._root_of(row)

    def find_job(self, node: NodeId) -> int | None:
        """The job of a node id, wherever its namespace ends."""
        row = self._lookup.find_job(node)
        return None if row is None else row[0]

    def datasets_at(self, text: str, cuts: list[int]) -> list[int]:
        """The datasets that a text means, cut into a namespace and a name in some ways."""
        return [self._root_of(row) for row in self._lookup.datasets_at(text, cuts)]

    def jobs_at(self, text: str, cuts: list[int]) -> list[int]:
        """The jobs that a text means, cut into a namespace and a name in some ways."""
        return [row[0] for row in self._lookup.jobs_at(text, cuts)]

    def find_field(self, node: NodeId) -> tuple[int, str] | None:
        """The dataset and field of a node id; the longest dataset name that fits is meant.

        Raises: TooManySplits.
        """
        found = self._lookup.find_field(node)
        return None if found is None else (self._root_of(found[0]), found[1])

    @property
    def _lookup(self) -> NodeLookup:
        return NodeLookup(self.session, self.rules, self.at, self.scope)

    def _root_of(self, row: Row) -> int:
        return self.names.resolve({row[0]: row[1]})[row[0]]

    def has_namespace(self, name: str) -> bool:
        """Whether a namespace is known."""
        sql = "SELECT 1 FROM namespace WHERE name = ?"
        return bool(self.session.all(sql, name))


class StoreViews:
    """Opens views of a database, from any thread."""

    def __init__(self, database: Database, rules: AliasRules) -> None:
        self._database, self._rules = database, rules
        self._contents, self._instance = Contents(), database.instance

    @contextmanager
    def open_view(self, at: int = NOW, *, namespaces: tuple[str, ...] = ()) -> Iterator[StoreView]:
        """A view of the store at a moment of its history, limited to some namespaces if wanted."""
        budget = Budget(self._contents.turn)
        try:
            with self._database.reading() as session:
                counted, contents = MeteredSession(session, budget), self._current_contents()
                yield StoreView(counted, self._rules, contents, at, budget, session, namespaces)
        finally:
            budget.close()

    def _current_contents(self) -> Contents:
        """What is cached of the database that answers now."""
        if self._database.instance != self._instance:
            self._contents, self._instance = Contents(), self._database.instance
        return self._contents


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
