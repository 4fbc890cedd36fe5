"""Runs, with the dataset versions they read and wrote."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headwater.api.base import VersionedName
from headwater.api.runs import Run, RunDataset, RunTry
from headwater.openlineage.lifecycle import state_of, tries_of
from headwater.server.lineage.facets import (
    FacetBook,
    Wanted,
    dataset_facets,
    job_facets,
    run_facets,
)
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.run_io import Io, IoRow, io_rows, ios_of, versions_at
from headwater.server.lineage.runs import ShownRun
from headwater.server.lineage.view import StoreView, maybe_moment, moment, uuid_text
from headwater.server.store.rows import RunRow, version_of
from headwater.server.store.run_states import read_reports
from headwater.server.store.tables import INPUT, OUTPUT

AnyRun = RunRow | ShownRun


def run_tries(view: StoreView, row: AnyRun) -> list[RunTry]:
    """The tries of a run, the last as the run itself tells it."""
    earlier = tries_of(read_reports(view.session, row.id))[:-1]
    told = [
        RunTry(state_of(t.ending, True, False), moment(t.started_at), maybe_moment(t.ended_at))
        for t in earlier
    ]
    return [*told, RunTry(row.state, maybe_moment(row.started_at), maybe_moment(row.ended_at))]


class RunWriter:
    """Turns rows of runs into answers; what they need is read for all of them at once."""

    def __init__(
        self,
        view: StoreView,
        runs: Iterable[AnyRun],
        ios: list[IoRow] | None = None,
        *,
        begun: dict[int, int] | None = None,
        of_job: bool = False,
    ) -> None:
        self._of_job = of_job
        rows = list(runs)
        told = io_rows(view, [row.id for row in rows]) if ios is None else ios
        self._ios = ios_of(view, told)
        self._jobs = job_names(view, {row.job for row in rows})
        self._parents = _parents(view, {row.parent for row in rows if row.parent is not None})
        self._book = FacetBook(view, self._wanted(rows))
        ended = [row.id for row in rows if only_ended(row.started_at, row.ended_at)]
        self._begun = begun_below(view, ended) if begun is None else begun
        self._implied = _implied_inputs(view, [row for row in rows if row.args is not None])

    def _wanted(self, rows: list[AnyRun]) -> Iterator[Wanted]:
        for row in rows:
            yield self._facets_of(row)
            for io in () if self._of_job else (INPUT, OUTPUT):
                yield from (_own_facets(found, io) for found in self._ios.get((row.id, io), ()))

    def write(self, row: AnyRun) -> Run:
        """A run as an answer."""
        space, name = self._jobs[row.job]
        version = VersionedName(space, name, uuid_text(row.version)) if row.version else None
        return Run(
            uuid_text(row.uuid),
            moment(row.created_at),
            moment(row.updated_at),
            maybe_moment(row.nominal_start),
            maybe_moment(row.nominal_end),
            row.state,
            maybe_moment(started_at := self._started_at(row)),
            maybe_moment(row.ended_at),
            _duration(started_at, row.ended_at),
            self._args(row),
            version or self._version_of_ended(row),
            self._datasets(row, INPUT) or self._implied.get(row.id, []),
            self._datasets(row, OUTPUT),
            self._book.get(self._facets_of(row)),
        )

    def _started_at(self, row: AnyRun) -> int | None:
        """When a run began; one that reported only its end began no later than its children."""
        begun = self._begun.get(row.id)
        return row.started_at if begun is None else min(begun, row.started_at or begun)

    def _version_of_ended(self, row: AnyRun) -> VersionedName | None:
        """A run that ended without naming datasets is a version without any."""
        if row.ended_at is None:
            return None
        space, name = self._jobs[row.job]
        return VersionedName(space, name, uuid_text(empty_version(space, name)))

    def _facets_of(self, row: AnyRun) -> Wanted:
        return job_facets(row.job_facets) if self._of_job else run_facets(row.facets)

    def _datasets(self, row: AnyRun, io: int) -> list[RunDataset]:
        return [
            RunDataset(
                VersionedName(*found.name, uuid_text(found.version) if found.version else ""),
                {} if self._of_job or not found.own else self._book.get(_own_facets(found, io)),
            )
            for found in self._ios.get((row.id, io), ())
        ]

    def _args(self, row: AnyRun) -> dict[str, Any]:
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


def _own_facets(found: Io, io: int) -> Wanted:
    return dataset_facets(found.own, [found.name], own=io == OUTPUT)


def empty_version(namespace: str, name: str) -> bytes:
    """The version of a job that reads and writes nothing."""
    return version_of(b"", namespace, name, b"")


def _duration(started_at: int | None, ended_at: int | None) -> int | None:
    return None if started_at is None or ended_at is None else (ended_at - started_at) // 1000


def only_ended(started_at: int | None, ended_at: int | None) -> bool:
    """Whether a run may have reported only its end: it began with the first of its children."""
    return started_at is not None and started_at == ended_at


def begun_below(view: StoreView, ended: list[int]) -> dict[int, int]:
    """When the first child began, of runs that reported only their end."""
    if not ended:
        return {}
    own, params = view.scope.has_job("job")
    found = view.session.all(
        "SELECT parent, min(started_at) FROM run "
        f"WHERE parent = ANY(?){own} GROUP BY parent", ended, *params,
    )  # fmt: skip
    return {parent: begun for parent, begun in found if begun is not None}


def _parents(view: StoreView, runs: set[int]) -> dict[int | None, tuple[str, str, str]]:
    if not runs:
        return {}
    rows = view.session.all(
        "SELECT r.id, r.uuid, n.name, j.name FROM run r JOIN job j ON j.id = r.job "
        "JOIN namespace n ON n.id = j.namespace WHERE r.id = ANY(?)", [*runs],
    )  # fmt: skip
    return {row[0]: (uuid_text(row[1]), row[2], row[3]) for row in rows}


def _implied_inputs(view: StoreView, rows: list[AnyRun]) -> dict[int, list[RunDataset]]:
    """The inputs of runs made through the API, which name none: those of their job."""
    implied = {}
    for row in rows:
        found = view.session.all(
            "SELECT DISTINCT d.root FROM edge e JOIN dataset d ON d.id = e.dataset "
            "WHERE e.job = ? AND e.io = 0 AND e.since <= ? AND e.until > ?",
            row.job, view.at, view.at,
        )  # fmt: skip
        names = view.names.of(root for (root,) in found)
        own = view.names.own(names)
        versions = versions_at(view, own, row.created_at)
        implied[row.id] = [
            RunDataset(
                VersionedName(*names[root], uuid_text(versions[root]) if root in own else ""), {}
            )
            for (root,) in found
            if root in versions or root not in own
        ]
    return implied
