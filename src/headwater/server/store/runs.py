"""The rows of runs and of what they read and wrote, found or made in a commit."""

from uuid import UUID

from headwater.server.store.commit import Commit
from headwater.server.store.database import among
from headwater.server.store.rows import RunIoRow, RunRow
from headwater.server.store.tables import INPUT, MAPPED, select

_SELECT, _SELECT_IO = select("run"), select("run_io")
RunIos = dict[tuple[int, int, int], RunIoRow]  # by io, dataset and schema
FirstNamed = dict[tuple[int, int], int]  # by io and dataset


def find_run(commit: Commit, uuid: UUID, job: int, time: int, tie: int) -> RunRow:
    """The row of a run, made if it is new."""
    cache, key = commit.cache, uuid.bytes
    if key not in cache.run_ids:
        read_runs(commit, {key})
    number = cache.run_ids.get(key)
    if number is None:
        number = cache.new_id("run")
        _keep(commit, RunRow(number, key, job, time, tie, "NEW", time, time))
        cache.run_ios[number] = {}
    commit.changed_runs.add(number)
    return cache.runs[number]


def read_runs(commit: Commit, uuids: set[bytes]) -> None:
    """Read runs that are needed next, all at once; those that are not stored are noted so."""
    cache = commit.cache
    unread = {u for u in uuids if u not in cache.run_ids and u not in cache.missing_runs}
    cache.missing_runs |= unread
    for row in among(commit.session, f"{_SELECT} WHERE uuid IN", unread):
        _keep(commit, RunRow.of(row))


def _keep(commit: Commit, row: RunRow) -> None:
    commit.cache.runs.setdefault(row.id, row)
    commit.cache.run_ids[row.uuid] = row.id
    commit.cache.missing_runs.discard(row.uuid)


def run_row(commit: Commit, number: int) -> RunRow:
    """The row of a run by id."""
    return commit.cache.runs.get(number) or run_rows(commit, [number])[0]


def run_rows(commit: Commit, numbers: list[int]) -> list[RunRow]:
    """The rows of runs by id."""
    known = commit.cache.runs
    missing = [number for number in numbers if number not in known]
    if missing:
        for row in commit.session.all(f"{_SELECT} WHERE id = ANY(?)", missing):
            _keep(commit, RunRow.of(row))
    return [known[number] for number in numbers]


def run_ios(commit: Commit, run: int) -> RunIos:
    """What a run read and wrote."""
    known = commit.cache.run_ios.get(run)
    if known is None:
        rows = commit.session.all(f"{_SELECT_IO} WHERE run = ?", run)
        known = commit.cache.run_ios[run] = {(r[1], r[2], r[3]): RunIoRow.of(r) for r in rows}
    return known


def first_named(commit: Commit, run: int) -> FirstNamed:
    """When a run first named each dataset."""
    known = commit.cache.run_named.get(run)
    if known is None:
        known = commit.cache.run_named[run] = {}
        for (io, dataset, _), row in run_ios(commit, run).items():
            key = INPUT if io == MAPPED else io, dataset
            known[key] = min(row.since, known.get(key, row.since))
    return known


def declared_version(commit: Commit, dataset: int, schema: int) -> RunIoRow | None:
    """The version of a dataset that dataset events report with a schema."""
    row = commit.cache.declared.get((dataset, schema))
    if row is None and not commit.cache.is_new("dataset", dataset):
        rows = commit.session.all(
            f"{_SELECT_IO} WHERE run = 0 AND io = 1 AND dataset = ? AND schema = ?",
            dataset, schema,
        )  # fmt: skip
        if rows:
            row = commit.cache.declared[dataset, schema] = RunIoRow.of(rows[0])
    return row
