"""Runs by id."""

from typing import Any

from litestar import Controller, Request, Response, get, post

from headwater.api.runs import Run, RunFacets, RunTries
from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.times import now
from headwater.server.http import legacy_events
from headwater.server.http.access import READS_RUN, WRITES_RUN
from headwater.server.http.common import answer, time_of
from headwater.server.http.errors import BadParameters, BadRequest, NotFound
from headwater.server.http.limited_events import ingest_reported
from headwater.server.http.parameters import FacetsOf, PathText, Time
from headwater.server.lineage.facets import FacetBook, job_facets, run_facets
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.view import StoreView, uuid_bytes, uuid_text
from headwater.server.marquez.runs import RunWriter, run_tries
from headwater.server.service import Service
from headwater.server.store.rows import RunRow

_MARKS = {
    "start": EventType.START,
    "complete": EventType.COMPLETE,
    "fail": EventType.FAIL,
    "abort": EventType.ABORT,
}


class Runs(Controller):
    """Runs."""

    tags = ("Runs",)
    path = "/api/v1/jobs/runs"

    @get("/{run_id:str}", opt=READS_RUN, sync_to_thread=True)
    def get_run(self, service: Service, run_id: PathText) -> Response[Run]:
        """Get a run with its inputs and outputs."""
        return run_answer(service, run_id)

    @get("/{run_id:str}/facets", opt=READS_RUN, sync_to_thread=True)
    def get_facets(self, service: Service, run_id: PathText, kind: FacetsOf) -> Response[RunFacets]:
        """Get the facets of a run, or of its job at the time of the run."""
        if kind.lower() not in ("run", "job"):
            raise BadParameters("query param type must be one of [JOB, RUN]")
        with service.open_view() as view:
            row = find_run(view, run_id)
            is_run = kind.lower() == "run"
            wanted = run_facets(row.facets) if is_run else job_facets(row.job_facets)
            facets = FacetBook(view, [wanted]).get(wanted)
            return answer(RunFacets(uuid_text(row.uuid), facets))

    @get("/{run_id:str}/tries", opt=READS_RUN, sync_to_thread=True)
    def get_tries(self, service: Service, run_id: PathText) -> Response[RunTries]:
        """Get the tries of a run: one that starts again after its end has several."""
        with service.open_view() as view:
            row = find_run(view, run_id)
            tries = run_tries(view, row)
        return answer(RunTries(uuid_text(row.uuid), tries))

    @post("/{run_id:str}/{mark:str}", opt=WRITES_RUN, status_code=200, sync_to_thread=True)
    def mark_run(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        run_id: PathText,
        mark: PathText,
        at: Time = None,
    ) -> Response[Run]:
        """Mark a run as started, complete, failed or aborted."""
        if mark not in _MARKS:
            raise BadRequest(detail="HTTP 404 Not Found", status_code=404)
        time = time_of("at", at, now())
        with service.open_view() as view:
            row = find_run(view, run_id)
            job = view.session.all(
                "SELECT n.name, j.name FROM job j JOIN namespace n ON n.id = j.namespace "
                "WHERE j.id = ?", row.job,
            )[0]  # fmt: skip
        event = legacy_events.run_event(_MARKS[mark], uuid_text(row.uuid), (job[0], job[1]), time)
        ingest_reported(service, request, event)
        return run_answer(service, run_id)


def find_run(view: StoreView, run_id: str) -> RunRow:
    """A run by its id.

    Raises: BadRequest, NotFound.
    """
    uuid = uuid_bytes(run_id)
    if uuid is None:
        raise BadRequest(detail="HTTP 404 Not Found", status_code=404)
    rows = view.session.all(f"SELECT * FROM run WHERE uuid = ? AND {LISTED}", uuid)
    if not rows:
        raise NotFound("Run", run_id)
    return RunRow.of(rows[0])


def run_answer(service: Service, run_id: str, status: int = 200) -> Response[Run]:
    """A run by id, as an answer."""
    with service.open_view() as view:
        row = find_run(view, run_id)
        found = RunWriter(view, [row]).write(row)
        return answer(found, status)
