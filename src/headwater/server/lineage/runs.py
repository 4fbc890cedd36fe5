"""Runs: the latest of jobs, in the state they were in at the moment of a view."""

from typing import Any

from headwater.openlineage.lifecycle import RunState
from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import NEVER, FacetSources, StoredRow

LISTED = "state <> 'DECLARED'"  # rows that stand for job events are no runs
LATEST = 10  # runs shown with a job


class ShownRun(StoredRow):
    """A run without what only the store needs to know of it."""

    id: int
    uuid: bytes
    job: int
    state: str
    created_at: int
    updated_at: int
    started_at: int | None
    ended_at: int | None
    parent: int | None
    nominal_start: int | None
    nominal_end: int | None
    version: bytes | None
    args: str | None
    facets: FacetSources
    job_facets: FacetSources


SHOWN_RUN = ", ".join(f"r.{column}" for column in ShownRun.__struct_fields__)


def latest_runs(view: StoreView, jobs: list[int], most: int) -> dict[int, list[ShownRun]]:
    """The latest runs of each job of the view's namespaces, latest first."""
    jobs = [*view.scope.own_jobs(jobs)]
    rows = view.session.all(
        f"SELECT {SHOWN_RUN} FROM (SELECT j.id, (SELECT x.created_at FROM run x WHERE x.job = j.id "
        f"AND x.{LISTED} ORDER BY x.created_at DESC LIMIT 1 OFFSET ?) AS since FROM job j "
        "WHERE j.id = ANY(?)) e JOIN run r ON r.job = e.id AND r.created_at >= "
        f"coalesce(e.since, ?) AND r.{LISTED}", most - 1, jobs, NEVER,
    )  # fmt: skip
    found: dict[int, list[ShownRun]] = {}
    for row in rows:
        found.setdefault(row[2], []).append(ShownRun.of(row))
    # Several may have begun when the last of them did.
    return {
        job: sorted(runs, key=lambda run: (run.created_at, run.uuid), reverse=True)[:most]
        for job, runs in found.items()
    }


def latest_rows(view: StoreView, jobs: list[int]) -> dict[int, tuple[Any, ...]]:
    """The run of each job that had begun last, as a row of `ShownRun`, in the state it was in.

    Runs of jobs outside of the view's namespaces are not told.
    """
    jobs = [*view.scope.own_jobs(jobs)]
    rows = view.session.all(
        f"SELECT {SHOWN_RUN} FROM job j "
        "JOIN run r ON r.id = (SELECT x.id FROM run x WHERE x.job = j.id "
        f"AND x.{LISTED} AND x.created_at <= ? ORDER BY x.created_at DESC, x.uuid DESC LIMIT 1) "
        "WHERE j.id = ANY(?)", view.at, jobs,
    )  # fmt: skip
    return {row[2]: at_moment(view, row) for row in rows}


def at_moment(view: StoreView, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row of a run as it was at the moment of a view."""
    if not view.is_past:
        return row
    run, at = ShownRun.of(row), view.at
    run.updated_at = min(run.updated_at, at)
    if run.ended_at is not None and run.ended_at > at:
        run.ended_at = None
        run.state = RunState.RUNNING
    if run.started_at is None or run.started_at > at:
        run.started_at, run.state = None, RunState.NEW
    return run.row()
