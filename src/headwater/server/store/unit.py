"""The unit of work: the rows a batch of events needs, read once, changed, written once.

What is read stays at hand for later batches. That is safe because writing goes one at a
time over all servers, and each write counts up `clock`: a unit that finds a count it did
not make forgets everything.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from headwater.server.store.database import Session, among, first
from headwater.server.store.feed import Feed, pack_entries
from headwater.server.store.log import Compressor
from headwater.server.store.migrate import check_version
from headwater.server.store.rows import NEVER, DatasetRow, JobRow, RunIoRow, RunRow
from headwater.server.store.tables import INPUT, MAPPED, add, insert, upsert

_MOST = 6_000  # rows of a kind kept at hand
_COUNTED = (
    "namespace", "dataset", "job", "run", "event", "schema", "field_name", "mapping", "feed",
)  # fmt: skip


class Unit:
    """Rows by key, with what changed; a session is lent to it for each batch."""

    session: Session

    def __init__(self, store: str = "") -> None:
        self.store = store  # its name, for errors
        self.compressor = Compressor()
        self._pruned = 0
        self.generation = -1
        self.forget()

    def forget(self) -> None:
        """Drop everything at hand."""
        self.namespaces: dict[str, tuple[int, int]] = {}
        self.hidden_namespaces: set[str] = set()
        self.restores: tuple[str, ...] | None = None  # prefixes of the event that is applied
        self.namespace_names: dict[int, str] = {}
        self.dataset_ids: dict[tuple[str, str], int] = {}
        self.datasets: dict[int, DatasetRow] = {}
        self.job_ids: dict[tuple[str, str], int] = {}
        self.jobs: dict[int, JobRow] = {}
        self.run_ids: dict[bytes, int] = {}
        self.runs: dict[int, RunRow] = {}
        self.new_runs: set[bytes] = set()  # looked for, and not in the store
        self.run_parents: set[int] = set()  # named as parents since everything was forgotten
        self.run_ios: dict[int, dict[tuple[int, int, int], RunIoRow]] = {}
        self.run_named: dict[int, dict[tuple[int, int], int]] = {}
        self.declared: dict[tuple[int, int], RunIoRow] = {}
        self.sources: dict[str, tuple[Any, ...]] = {}
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
        self._ours: dict[str, int] = {}
        self.feed = Feed()
        self.generation = -1
        self._clean()

    def undo(self) -> None:
        """Drop everything when what was written has been undone; bases of events too."""
        self._pruned = -1
        self.forget()
        self.compressor.forget()

    def _clean(self) -> None:
        self.changed_datasets: set[int] = set()
        self.changed_jobs: set[int] = set()
        self.changed_runs: set[int] = set()
        self.changed_ios: dict[tuple[int, int, int, int], RunIoRow] = {}
        self.changed_sources: set[str] = set()
        self.added: dict[str, list[tuple[Any, ...]]] = {}
        self.parents: set[int] = set()
        self.ended: set[int] = set()  # runs below which states may follow from theirs
        self.contested: set[int] = set()
        self.joined: set[tuple[int, int]] = set()
        # Sides of jobs (job, io) whose edges are made anew, from the earliest moment of a change.
        self.rebuilds: dict[tuple[int, int], int] = {}

    def begin(self, session: Session) -> None:
        """Take the write lock, and forget what another server may have changed.

        Raises: StoreTooNew.
        """
        self.session = session
        ((generation, pruned, version),) = session.all(_TICK)
        check_version(version, self.store)
        if pruned != self._pruned:  # events that others are compressed against are gone
            self._pruned = pruned
            self.compressor.forget()
        if generation != self.generation + 1 or self._is_full():
            self.forget()
        self.generation = generation
        if not self.next_id:
            self._count()

    def start_over(self) -> None:
        """Forget in the middle of a transaction, when rows were changed behind the unit."""
        generation, feed = self.generation, self.feed
        self.forget()
        self.generation, self.feed = generation, feed
        self._count()

    def _is_full(self) -> bool:
        held = self.datasets, self.runs, self.contents, self.field_names
        return any(len(rows) > _MOST for rows in held)

    def _count(self) -> None:
        for table in _COUNTED:
            key = "seq" if table == "event" else "id"
            row = first(self.session.all(f"SELECT max({key}) FROM {table}"))
            self.next_id[table] = self._ours[table] = (row[0] or 0) + 1 if row else 1

    def is_ours(self, table: str, number: int) -> bool:
        """Whether a row was made since everything was last forgotten: then nothing of it is
        in the store that is not at hand.
        """
        return number >= self._ours[table]

    def may_have_children(self, run: int) -> bool:
        """Whether there may be runs below a run."""
        return run in self.run_parents or not self.is_ours("run", run)

    def new_id(self, table: str) -> int:
        """The next number of a table."""
        number = self.next_id[table]
        self.next_id[table] = number + 1
        return number

    def put(self, table: str, *row: Any) -> None:
        """Add a row when the unit is written."""
        self.added.setdefault(table, []).append(row)

    def namespace(self, name: str, time: int) -> int:
        """The id of a namespace, made if it is new; it is as old as its oldest event."""
        known = self.namespaces.get(name)
        if known is None:
            known = self._find_namespace(name, time)
        number, since = known
        if name in self.hidden_namespaces and self.may_restore(name):
            self.hidden_namespaces.discard(name)
            self.session.run("UPDATE namespace SET hidden = ? WHERE id = ?", False, number)
        if time < since:
            self.namespaces[name] = number, time
            self.session.run(_OLDER, time, time, number)
        return number

    def may_restore(self, namespace: str) -> bool:
        """Whether the event that is applied brings back what was deleted of a namespace."""
        return self.restores is None or namespace.startswith(self.restores)

    def _find_namespace(self, name: str, time: int) -> tuple[int, int]:
        row = first(
            self.session.all("SELECT id, created_at, hidden FROM namespace WHERE name = ?", name)
        )
        if row is not None and row[2]:
            self.hidden_namespaces.add(name)
        if row is None:
            row = (self.new_id("namespace"), time)
            self.session.run(_ADD["namespace"], row[0], name, "anonymous", None, time, time, False)
        self.namespaces[name] = known = (row[0], row[1])
        self.namespace_names[row[0]] = name
        return known

    def namespace_name(self, number: int) -> str:
        """The name of a namespace by id."""
        name = self.namespace_names.get(number)
        if name is None:
            rows = self.session.all("SELECT name FROM namespace WHERE id = ?", number)
            name = self.namespace_names[number] = str(rows[0][0])
        return name

    def dataset(self, namespace: str, name: str, time: int, rank: int = 0) -> DatasetRow:
        """The row of a dataset's name, made if it is new; a lower rank is kept."""
        number = self.dataset_ids.get((namespace, name))
        if number is None:
            number = self._find_dataset(namespace, name, time, rank)
        elif namespace in self.hidden_namespaces:
            self.namespace(namespace, time)
        row = self.datasets[number]
        self._see(row, time, rank)
        return row

    def see(self, datasets: Iterable[int], time: int) -> None:
        """Note that an event speaks of datasets, though it was not read again."""
        for row in self.dataset_rows(datasets):
            self._see(row, time, 1)

    def _see(self, row: DatasetRow, time: int, rank: int) -> None:
        if row.first_ranked(rank) <= time <= row.updated_at:
            return
        if row.root != row.id and (rank < row.rank or time < row.created_at):
            self.contested.add(row.id)
        if time < row.created_at:
            self.namespace(self.namespace_name(row.namespace), time)
        row.rank = min(row.rank, rank)
        if rank == 0:
            row.declared_at = min(row.declared_at, time)
        if rank <= 1:
            row.named_at = min(row.named_at, time)
        row.created_at = min(row.created_at, time)
        row.updated_at = max(row.updated_at, time)
        self.changed_datasets.add(row.id)

    def _find_dataset(self, namespace: str, name: str, time: int, rank: int) -> int:
        place = self.namespace(namespace, time)
        rows = self.session.all(
            "SELECT * FROM dataset WHERE namespace = ? AND name = ?", place, name
        )
        if rows:
            row = DatasetRow.of(rows[0])
        else:
            number = self.new_id("dataset")
            is_hidden = namespace in self.hidden_namespaces
            row = DatasetRow(number, place, name, number, rank, time, time, is_hidden)
            self.changed_datasets.add(number)
            self.put("search", name, "D", number)
        self.dataset_ids[namespace, name] = row.id
        self.datasets.setdefault(row.id, row)
        return row.id

    def dataset_rows(self, ids: Iterable[int]) -> list[DatasetRow]:
        """The rows of datasets by id."""
        missing = [i for i in ids if i not in self.datasets]
        if missing:
            for row in self.session.all("SELECT * FROM dataset WHERE id = ANY(?)", missing):
                self.datasets.setdefault(row[0], DatasetRow.of(row))
        return [self.datasets[i] for i in ids]

    def job(self, namespace: str, name: str, time: int) -> JobRow:
        """The row of a job, made if it is new."""
        number = self.job_ids.get((namespace, name))
        if number is None:
            number = self._find_job(namespace, name, time)
        row = self.jobs[number]
        if time < row.created_at:
            self.namespace(namespace, time)
        row.created_at = min(row.created_at, time)
        row.updated_at = max(row.updated_at, time)
        self.changed_jobs.add(number)
        return row

    def _find_job(self, namespace: str, name: str, time: int) -> int:
        place = self.namespace(namespace, time)
        rows = self.session.all("SELECT * FROM job WHERE namespace = ? AND name = ?", place, name)
        if rows:
            row = JobRow.of(rows[0])
        else:
            row = JobRow(self.new_id("job"), place, name, time, time)
            self.put("search", name, "J", row.id)
        self.job_ids[namespace, name] = row.id
        self.jobs.setdefault(row.id, row)
        return row.id

    def job_row(self, number: int) -> JobRow:
        """The row of a job by id."""
        row = self.jobs.get(number)
        if row is None:
            found = self.session.all("SELECT * FROM job WHERE id = ?", number)
            row = self.jobs[number] = JobRow.of(found[0])
        return row

    def run(self, uuid: UUID, job: int, time: int, tie: int) -> RunRow:
        """The row of a run, made if it is new."""
        number = self.run_ids.get(uuid.bytes)
        if number is None:
            self.expect({uuid.bytes})
            number = self.run_ids.get(uuid.bytes)
        if number is None:
            number = self.new_id("run")
            self._have_run(RunRow(number, uuid.bytes, job, time, tie, "NEW", time, time))
            self.run_ios[number] = {}
        self.changed_runs.add(number)
        return self.runs[number]

    def expect(self, runs: set[bytes]) -> None:
        """Read runs that are asked for next, all at once; those that are new are noted so."""
        unread = {run for run in runs if run not in self.run_ids and run not in self.new_runs}
        self.new_runs |= unread
        for row in among(self.session, "SELECT * FROM run WHERE uuid IN", unread):
            self._have_run(RunRow.of(row))

    def _have_run(self, row: RunRow) -> None:
        self.runs.setdefault(row.id, row)
        self.run_ids[row.uuid] = row.id
        self.new_runs.discard(row.uuid)

    def run_row(self, number: int) -> RunRow:
        """The row of a run by id."""
        return self.runs.get(number) or self.run_rows([number])[0]

    def run_rows(self, numbers: list[int]) -> list[RunRow]:
        """The rows of runs by id."""
        missing = [number for number in numbers if number not in self.runs]
        if missing:
            for row in self.session.all("SELECT * FROM run WHERE id = ANY(?)", missing):
                self._have_run(RunRow.of(row))
        return [self.runs[number] for number in numbers]

    def ios(self, run: int) -> dict[tuple[int, int, int], RunIoRow]:
        """What a run read and wrote, by (io, dataset, schema)."""
        known = self.run_ios.get(run)
        if known is None:
            rows = self.session.all("SELECT * FROM run_io WHERE run = ?", run)
            known = self.run_ios[run] = {(r[1], r[2], r[3]): RunIoRow.of(r) for r in rows}
        return known

    def declared_version(self, dataset: int, schema: int) -> RunIoRow | None:
        """The version of a dataset that dataset events tell with a schema."""
        row = self.declared.get((dataset, schema))
        if row is None and not self.is_ours("dataset", dataset):
            rows = self.session.all(
                "SELECT * FROM run_io WHERE run = 0 AND io = 1 AND dataset = ? AND schema = ?",
                dataset, schema,
            )  # fmt: skip
            if rows:
                row = self.declared[dataset, schema] = RunIoRow.of(rows[0])
        return row

    def named(self, run: int) -> dict[tuple[int, int], int]:
        """When a run first named a dataset, by (io, dataset)."""
        known = self.run_named.get(run)
        if known is None:
            known = self.run_named[run] = {}
            for (io, dataset, _), row in self.ios(run).items():
                key = INPUT if io == MAPPED else io, dataset
                known[key] = min(row.since, known.get(key, row.since))
        return known

    def source(self, name: str, url: str | None, time: int) -> None:
        """Note a data source, first and last told of at some time."""
        row = self.sources.get(name)
        if row is not None and row[2] == url and row[4] <= time <= (row[6] or NEVER):
            return
        if row is None:
            found = self.session.all("SELECT * FROM source WHERE name = ?", name)
            row = found[0] if found else (name, "POSTGRESQL", None, None, time, time, None)
            if not found:
                self.changed_sources.add(name)
        before = row
        if url and (row[6] is None or (time, url) > (row[6], row[2] or "")):
            row = (*row[:2], url, *row[3:6], time)
        self.sources[name] = (*row[:4], min(row[4], time), max(row[5], time), row[6])
        if self.sources[name] != before:
            self.changed_sources.add(name)

    def job_name(self, job: int) -> tuple[str, str]:
        """The name of a job."""
        row = self.job_row(job)
        return self.namespace_name(row.namespace), row.name

    def root_names(self, datasets: Iterable[int]) -> list[tuple[str, str]]:
        """The names by which datasets are shown."""
        roots = {row.root for row in self.dataset_rows(datasets)}
        rows = self.dataset_rows(roots)
        return [(self.namespace_name(row.namespace), row.name) for row in rows]

    def write_feed(self) -> bool:
        """Write what changed for those who watch; tell if anything did."""
        entries, self.feed = self.feed.settled(self), Feed()
        if not entries:
            return False
        last = self.next_id["feed"] + len(entries) - 1
        self.next_id["feed"] = last + 1
        self.session.run(_ADD["feed"], last, pack_entries(entries))
        return True

    def flush(self) -> None:
        """Write what changed, in the transaction."""
        for name in [n for n in _ADDED if n in self.added]:
            self.session.many(_ADD[name], self.added.pop(name))
        for table, changed, rows in (
            ("dataset", self.changed_datasets, self.datasets),
            ("job", self.changed_jobs, self.jobs),
            ("run", self.changed_runs, self.runs),
        ):
            if changed:
                self.session.many(
                    _UPSERT[table],
                    [rows[i].row() for i in sorted(changed)],
                )
        if self.changed_ios:
            rows_ = [row.row() for _, row in sorted(self.changed_ios.items())]
            self.session.many(_UPSERT["run_io"], rows_)
        if self.changed_sources:
            names = sorted(self.changed_sources)
            self.session.many(_UPSERT["source"], [self.sources[n] for n in names])
        self._clean_but_parents()

    def _clean_but_parents(self) -> None:
        kept = self.parents, self.ended, self.contested, self.joined, self.rebuilds
        self._clean()
        self.parents, self.ended, self.contested, self.joined, self.rebuilds = kept


_TICK = (
    "UPDATE clock SET generation = generation + 1 "
    "RETURNING generation, pruned, (SELECT max(version) FROM migration)"
)
_OLDER = (
    "UPDATE namespace SET updated_at = CASE WHEN updated_at = created_at THEN ? "
    "ELSE updated_at END, created_at = ? WHERE id = ?"
)
_UPSERT = {
    "dataset": upsert("dataset", "namespace", "name", "root"),
    "job": upsert("job", "namespace", "name"),
    "run": upsert("run", "uuid", "first_parent"),
    "run_io": upsert("run_io", "since", "version"),
    "source": upsert("source"),
}
_ADDED = (
    "event", "touch", "schema", "field_name", "schema_field", "mapping",
    "mapping_input", "mapped_field", "alias", "snapshot", "search", "deferred",
)  # fmt: skip
_ADD = {name: add(name) for name in _ADDED if name != "search"} | {
    "event": insert("event"),
    "namespace": add("namespace"),
    "feed": insert("feed"),
    "search": "INSERT INTO search (text, kind, target) VALUES (?, ?, ?)",
}
