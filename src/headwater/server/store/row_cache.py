"""Rows kept from one commit to the next, so that events which repeat read little from the store.

That is safe because commits go one at a time over all servers, and each counts up `clock`: a
commit that finds a count which this server did not make clears the cache.
"""

from typing import Any

from headwater.server.store.database import Session
from headwater.server.store.log import Compressor
from headwater.server.store.rows import DatasetRow, JobRow, RunIoRow, RunRow

_MOST = 6_000  # rows of a kind
_NUMBERED = (
    "namespace", "dataset", "job", "run", "event", "schema", "field_name", "mapping", "feed",
)  # fmt: skip


class RowCache:
    """Rows by key, and the next number of each table. A commit that fails leaves a new cache."""

    def __init__(self) -> None:
        self.compressor = Compressor()
        self._pruned = self._generation = -1
        self.clear()

    def clear(self) -> None:
        """Drop every row."""
        self.namespaces: dict[str, tuple[int, int]] = {}  # id, and when it was first named
        self.hidden_namespaces: set[str] = set()
        self.namespace_names: dict[int, str] = {}
        self.sources: dict[str, tuple[Any, ...]] = {}
        self.dataset_ids: dict[tuple[str, str], int] = {}
        self.datasets: dict[int, DatasetRow] = {}
        self.job_ids: dict[tuple[str, str], int] = {}
        self.jobs: dict[int, JobRow] = {}
        self.run_ids: dict[bytes, int] = {}
        self.runs: dict[int, RunRow] = {}
        self.missing_runs: set[bytes] = set()  # looked for, and not in the store
        self.run_parents: set[int] = set()  # runs that were put above others since the start
        self.job_versions: dict[int, tuple[frozenset[tuple[int, int]], bytes]] = {}
        self.run_ios: dict[int, dict[tuple[int, int, int], RunIoRow]] = {}
        self.run_named: dict[int, dict[tuple[int, int], int]] = {}
        self.declared: dict[tuple[int, int], RunIoRow] = {}
        self.contents: dict[tuple[str, bytes], int] = {}
        self.field_names: dict[str, int] = {}
        self.schema_digests: dict[int, bytes] = {}
        self.schema_names: dict[int, frozenset[str]] = {}
        self.mapping_inputs: dict[int, list[int]] = {}
        self.last_mapping: tuple[bytes | None, Any] | None = None
        self.edges: dict[tuple[int, int], dict[int, int]] = {}
        self.spans: dict[tuple[str, int, int], Any] = {}
        self.facet_tags: dict[tuple[str, int], Any] = {}
        self.links: dict[tuple[int, int], int] = {}
        self.next_id: dict[str, int] = {}
        self._first_id: dict[str, int] = {}

    def follow(self, session: Session, generation: int, pruned: int) -> None:
        """Take up a commit: drop what another server may have changed."""
        if pruned != self._pruned:  # events that others are compressed against are gone
            self.compressor.forget()
        held = (self.datasets, self.jobs, self.runs, self.contents, self.field_names, self.links)
        if generation != self._generation + 1 or any(len(rows) > _MOST for rows in held):
            self.clear()
        self._generation, self._pruned = generation, pruned
        if not self.next_id:
            self.count(session)

    def count(self, session: Session) -> None:
        """Read the next number of each table."""
        for table in _NUMBERED:
            key = "seq" if table == "event" else "id"
            ((last,),) = session.all(f"SELECT coalesce(max({key}), 0) FROM {table}")
            self.next_id[table] = self._first_id[table] = last + 1

    def new_id(self, table: str) -> int:
        """The next number of a table."""
        number = self.next_id[table]
        self.next_id[table] = number + 1
        return number

    def is_new(self, table: str, number: int) -> bool:
        """Whether a row was made since the cache was cleared: all that belongs to it is here."""
        return number >= self._first_id[table]
