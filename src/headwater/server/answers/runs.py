"""Runs, with the dataset versions they read and wrote."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from headwater.model.facets import Facets
from headwater.server.answers.facets import FacetBook
from headwater.server.answers.reading import Reading, maybe_moment, moment, uuid_text
from headwater.server.answers.shapes import Run, RunDataset, VersionedName
from headwater.server.store.rows import RunRow, Said, unpack_said, version_of
from headwater.server.store.tables import INPUT, OUTPUT

LISTED = "state <> 'DECLARED'"  # rows that stand for job events are no runs
LATEST = 10  # runs shown with a job


class Io(NamedTuple):
    """A dataset that a run read or wrote."""

    dataset: int
    name: tuple[str, str]
    version: bytes | None
    own: Said


def latest_runs(reading: Reading, jobs: list[int], most: int) -> dict[int, list[RunRow]]:
    """The latest runs of each job, latest first."""
    found: dict[int, list[RunRow]] = {}
    if most == 1:
        rows = reading.session.all(
            "SELECT r.* FROM job j JOIN run r ON r.id = (SELECT x.id FROM run x WHERE x.job = j.id "
            f"AND x.{LISTED} ORDER BY x.created_at DESC, x.uuid DESC LIMIT 1) WHERE j.id = ANY(?)",
            jobs,
        )
    else:
        rows = [
            row
            for job in jobs
            for row in reading.session.all(
                f"SELECT * FROM run WHERE job = ? AND {LISTED} "
                "ORDER BY created_at DESC, uuid DESC LIMIT ?", job, most,
            )
        ]  # fmt: skip
    for row in rows:
        found.setdefault(row[2], []).append(RunRow.of(row))
    return found


def ios_of(reading: Reading, runs: list[int]) -> dict[tuple[int, int], list[Io]]:
    """What runs read and wrote, by (run, io); of a dataset its last version there."""
    rows = reading.session.all(
        "SELECT io.run, io.io, d.root, "
        "CASE io.io WHEN 1 THEN io.version ELSE (SELECT v.version FROM run_io v "
        "WHERE v.dataset = io.dataset AND v.io = 1 AND v.since <= io.since "
        "ORDER BY v.since DESC, v.version DESC LIMIT 1) END, io.own, io.since, io.last "
        "FROM run_io io JOIN dataset d ON d.id = io.dataset WHERE io.run = ANY(?)", runs,
    )  # fmt: skip
    names = dataset_names(reading, {row[2] for row in rows})
    several = _several_names(reading, {row[2] for row in rows if row[1] == INPUT})
    unwritten = {row[2] for row in rows if row[1] == INPUT and row[3] is None} - several
    first = first_reads(reading, unwritten)
    chosen: dict[tuple[int, int, int], tuple[tuple[int, bytes, list[tuple[int, int]]], Io]] = {}
    for run, io, root, version, own, since, last in rows:
        told = version or first.get(root)
        if io == INPUT and root in several:
            told = version_at(reading, root, since)
        found = Io(root, names[root], told, unpack_said(own))
        key = (run, io, root)
        rank = (last, told or b"", sorted(stamp[:2] for stamp in found.own.values()))
        if key not in chosen or chosen[key][0] < rank:
            chosen[key] = rank, found
    grouped: dict[tuple[int, int], list[Io]] = {}
    for (run, io, _), (_, found) in sorted(chosen.items(), key=lambda item: item[1][1].name):
        grouped.setdefault((run, io), []).append(found)
    return grouped


def dataset_names(reading: Reading, ids: set[int]) -> dict[int, tuple[str, str]]:
    """The names of datasets by id."""
    rows = reading.session.all(
        "SELECT d.id, n.name, d.name FROM dataset d JOIN namespace n ON n.id = d.namespace "
        "WHERE d.id = ANY(?)", [*ids],
    )  # fmt: skip
    return {row[0]: (row[1], row[2]) for row in rows}


def _several_names(reading: Reading, roots: set[int]) -> set[int]:
    rows = reading.session.all(
        "SELECT root FROM dataset WHERE root = ANY(?) GROUP BY root HAVING count(*) > 1", [*roots]
    )
    return {row[0] for row in rows}


def version_at(reading: Reading, root: int, at: int) -> bytes | None:
    """The version of a dataset at a moment: the last written, else what was first read."""
    return versions_at(reading, {root}, at).get(root)


def versions_at(reading: Reading, roots: set[int], at: int) -> dict[int, bytes]:
    """The versions of datasets at a moment."""
    rows = reading.session.all(
        "SELECT d.root, io.since, io.version FROM dataset d "
        "JOIN run_io io ON io.dataset = d.id AND io.io = 1 AND io.since = (SELECT max(x.since) "
        "FROM run_io x WHERE x.dataset = d.id AND x.io = 1 AND x.since <= ?) "
        "WHERE d.root = ANY(?)", at, [*roots],
    )  # fmt: skip
    written: dict[int, tuple[int, bytes]] = {}
    for root, since, version in rows:
        written[root] = max(written.get(root, (since, version)), (since, version))
    found = {root: version for root, (_, version) in written.items()}
    return found | first_reads(reading, roots - found.keys())


def first_read(reading: Reading, root: int) -> bytes | None:
    """The version that stands for a dataset that nobody was seen to write yet."""
    return first_reads(reading, {root}).get(root)


def first_reads(reading: Reading, roots: set[int]) -> dict[int, bytes]:
    """The versions that stand for datasets that nobody was seen to write yet."""
    if not roots:
        return {}
    rows = reading.session.all(
        "SELECT d.root, io.since, r.uuid, n.name, d.name, s.digest FROM dataset d "
        "JOIN namespace n ON n.id = d.namespace JOIN run_io io ON io.dataset = d.id AND io.io = 0 "
        "AND io.since = (SELECT min(x.since) FROM run_io x WHERE x.dataset = d.id AND x.io = 0) "
        "JOIN run r ON r.id = io.run LEFT JOIN schema s ON s.id = io.schema "
        "WHERE d.root = ANY(?)", [*roots],
    )  # fmt: skip
    first: dict[int, tuple[int, bytes, str, str, bytes]] = {}
    for root, since, run, namespace, name, schema in rows:
        found = (since, run, namespace, name, schema or b"")
        first[root] = min(first.get(root, found), found)
    return {root: version_of(*found[1:]) for root, found in first.items()}


class RunWriter:
    """Turns rows of runs into answers; what they need is read for all of them at once."""

    def __init__(self, reading: Reading, runs: Iterable[RunRow], *, of_job: bool = False) -> None:
        self._of_job = of_job
        rows = list(runs)
        self._ios = ios_of(reading, [row.id for row in rows])
        self._jobs = job_names(reading, {row.job for row in rows})
        self._parents = _parents(reading, {row.parent for row in rows if row.parent is not None})
        saids = [row.job_facets if of_job else row.facets for row in rows]
        owns = [io.own for found in self._ios.values() for io in found]
        self._book = FacetBook(reading, [*saids, *owns])
        self._implied = _implied_inputs(reading, [row for row in rows if row.args is not None])

    def write(self, row: RunRow) -> Run:
        """A run as an answer."""
        space, name = self._jobs[row.job]
        version = VersionedName(space, name, uuid_text(row.version)) if row.version else None
        is_api = row.args is not None
        return Run(
            uuid_text(row.uuid),
            moment(row.created_at),
            moment(row.updated_at),
            maybe_moment(row.nominal_start) if is_api else None,
            maybe_moment(row.nominal_end) if is_api else None,
            row.state,
            maybe_moment(row.started_at),
            maybe_moment(row.ended_at),
            _duration(row),
            self._args(row),
            version or self._version_of_ended(row),
            self._datasets(row, INPUT) or self._implied.get(row.id, []),
            self._datasets(row, OUTPUT),
            self._facets(row),
        )

    def _version_of_ended(self, row: RunRow) -> VersionedName | None:
        """A run that ended without naming datasets is a version without any."""
        if row.ended_at is None:
            return None
        space, name = self._jobs[row.job]
        return VersionedName(space, name, uuid_text(empty_version(space, name)))

    def _facets(self, row: RunRow) -> Facets:
        if self._of_job:
            return self._book.job(row.job_facets)
        return self._book.run(row.facets)

    def _datasets(self, row: RunRow, io: int) -> list[RunDataset]:
        return [
            RunDataset(
                VersionedName(*found.name, uuid_text(found.version) if found.version else ""),
                self._own_facets(found, io),
            )
            for found in self._ios.get((row.id, io), ())
        ]

    def _own_facets(self, found: Io, io: int) -> Facets:
        if self._of_job or not found.own:
            return {}
        return self._book.dataset(found.own, {found.name}, own=io == OUTPUT)

    def _args(self, row: RunRow) -> dict[str, Any]:
        if row.args is not None:
            given: dict[str, Any] = msgspec.json.decode(row.args)
            return given
        args: dict[str, Any] = {}
        if row.parent in self._parents:
            uuid, space, name = self._parents[row.parent]
            args = {"run_id": uuid, "name": name, "namespace": space}
        if row.nominal_start is not None:
            args["nominal_start_time"] = moment(row.nominal_start)
        if row.nominal_end is not None:
            args["nominal_end_time"] = moment(row.nominal_end)
        return args


def empty_version(namespace: str, name: str) -> bytes:
    """The version of a job that reads and writes nothing."""
    return version_of(b"", namespace, name, b"")


def _duration(row: RunRow) -> int | None:
    if row.started_at is None or row.ended_at is None:
        return None
    return (row.ended_at - row.started_at) // 1000


def job_names(reading: Reading, jobs: set[int]) -> dict[int, tuple[str, str]]:
    """The names of jobs by id."""
    rows = reading.session.all(
        "SELECT j.id, n.name, j.name FROM job j JOIN namespace n ON n.id = j.namespace "
        "WHERE j.id = ANY(?)", [*jobs],
    )  # fmt: skip
    return {row[0]: (row[1], row[2]) for row in rows}


def _parents(reading: Reading, runs: set[int]) -> dict[int | None, tuple[str, str, str]]:
    if not runs:
        return {}
    rows = reading.session.all(
        "SELECT r.id, r.uuid, n.name, j.name FROM run r JOIN job j ON j.id = r.job "
        "JOIN namespace n ON n.id = j.namespace WHERE r.id = ANY(?)", [*runs],
    )  # fmt: skip
    return {row[0]: (uuid_text(row[1]), row[2], row[3]) for row in rows}


def _implied_inputs(reading: Reading, rows: list[RunRow]) -> dict[int, list[RunDataset]]:
    """The inputs of runs made through the API, which name none: those of their job."""
    implied = {}
    for row in rows:
        found = reading.session.all(
            "SELECT DISTINCT d.root, n.name, r.name FROM edge e "
            "JOIN dataset d ON d.id = e.dataset JOIN dataset r ON r.id = d.root "
            "JOIN namespace n ON n.id = r.namespace "
            "WHERE e.job = ? AND e.io = 0 AND e.since <= ? AND e.until > ?",
            row.job, reading.at, reading.at,
        )  # fmt: skip
        implied[row.id] = [
            RunDataset(VersionedName(space, name, uuid_text(version)), {})
            for root, space, name in found
            if (version := version_at(reading, root, row.created_at))
        ]
    return implied
