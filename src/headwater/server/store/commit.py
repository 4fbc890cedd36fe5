"""One transaction of the writer: what it changes, written together at its end."""

from collections.abc import Callable
from typing import Any

from headwater.server.store.database import Session
from headwater.server.store.feed import Feed
from headwater.server.store.migrate import check_version
from headwater.server.store.row_cache import RowCache
from headwater.server.store.rows import RunIoRow
from headwater.server.store.tables import add, insert, upsert


class Commit:
    """The changes of one transaction. Rows are read through the cache, and changed there."""

    def __init__(
        self, session: Session, cache: RowCache, resolve: Callable[[str], str], tolerance: int
    ) -> None:
        self.session, self.cache = session, cache
        self.resolve = resolve  # gives the namespace that alias rules make of one
        self.tolerance = tolerance  # microseconds by which events may be ahead of the clock
        self.feed = Feed()
        self.stored: set[bytes] = set()  # digests of events that are in the store
        self.restores: tuple[str, ...] | None = None  # namespaces of the event that is applied
        self.parents: set[int] = set()  # runs whose state may follow from those below them
        self.ended: set[int] = set()  # runs below which states may follow from theirs
        self.contested: set[int] = set()  # names that may be the ones to show
        self.joined: set[tuple[int, int]] = set()  # names that symlinks join
        # Sides of jobs (job, io) whose edges are made anew, from the earliest moment of a change.
        self.rebuilds: dict[tuple[int, int], int] = {}
        self._begin_writing()

    def begin(self, store: str) -> None:
        """Take the lock by which writing goes one at a time; `store` is named in errors.

        Raises: StoreTooNew.
        """
        ((generation, pruned, version),) = self.session.all(_TICK)
        check_version(version, store)
        self.cache.follow(self.session, generation, pruned)

    def _begin_writing(self) -> None:
        self.changed_datasets: set[int] = set()
        self.changed_jobs: set[int] = set()
        self.changed_runs: set[int] = set()
        self.changed_ios: dict[tuple[int, int, int, int], RunIoRow] = {}
        self.changed_sources: set[str] = set()
        self._added: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _ADD}

    def add(self, table: str, *row: Any) -> None:
        """Add a row when the changes are written."""
        self._added[table].append(row)

    def may_restore(self, namespace: str) -> bool:
        """Whether the event that is applied brings back what was deleted of a namespace."""
        return self.restores is None or namespace.startswith(self.restores)

    def flush(self) -> None:
        """Write what changed so far, for statements that look at it."""
        cache = self.cache
        for table, added in self._added.items():
            if added:
                self.session.many(_ADD[table], added)
        for table, changed, rows in (
            ("dataset", self.changed_datasets, cache.datasets),
            ("job", self.changed_jobs, cache.jobs),
            ("run", self.changed_runs, cache.runs),
        ):
            if changed:
                self.session.many(_UPSERT[table], [rows[i].row() for i in sorted(changed)])
        if self.changed_ios:
            ios = [row.row() for _, row in sorted(self.changed_ios.items())]
            self.session.many(_UPSERT["run_io"], ios)
        if self.changed_sources:
            sources = [cache.sources[name] for name in sorted(self.changed_sources)]
            self.session.many(_UPSERT["source"], sources)
        self._begin_writing()

    def clear_cache(self) -> None:
        """Drop the cache after statements that changed rows behind it."""
        self.cache.clear()
        self.cache.count(self.session)


_TICK = (
    "UPDATE clock SET generation = generation + 1 "
    "RETURNING generation, pruned, (SELECT max(version) FROM migration)"
)
_UPSERT = {
    "dataset": upsert("dataset", "namespace", "name", "root", "hidden"),
    "job": upsert("job", "namespace", "name"),
    "run": upsert("run", "uuid", "first_parent"),
    "run_io": upsert("run_io", "since", "version"),
    "source": upsert("source"),
}
_ADD = {"event": insert("event")} | {
    table: add(table)
    for table in (
        "dataset_observation", "schema", "field_name", "schema_field", "mapping", "mapping_input",
        "mapped_field", "snapshot", "deferred",
    )
} | {"search": "INSERT INTO search (text, kind, target) VALUES (?, ?, ?)"}  # fmt: skip
