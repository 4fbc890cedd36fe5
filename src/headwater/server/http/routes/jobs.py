"""Jobs, their versions, runs and tags."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from litestar import Controller, Request, Response, delete, get, post, put

from headwater.api.jobs import Job, JobPage, JobVersion, JobVersionPage
from headwater.api.requests import NewJob, NewRun
from headwater.api.runs import Run, RunPage
from headwater.openlineage.lifecycle import RunState
from headwater.openlineage.times import now
from headwater.server.http import legacy_events
from headwater.server.http.access import ADMINISTERS_PATH, READS_ALL, READS_PATH, WRITES_PATH
from headwater.server.http.common import answer, bounded, job_of, time_of
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.limited_events import ingest_reported, read_reported
from headwater.server.http.parameters import LastRunStates, Limit, Names, Offset, PathText, Text
from headwater.server.http.routes.runs import run_answer
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.view import StoreView, uuid_bytes
from headwater.server.marquez import jobs
from headwater.server.marquez.runs import RunWriter
from headwater.server.service import Service
from headwater.server.store import changes
from headwater.server.store.rows import RunRow

_ONE = "/namespaces/{namespace:str}/jobs/{name:str}"
_STATES = [*RunState, "OTHER"]


class Jobs(Controller):
    """Jobs."""

    tags = ("Jobs",)
    path = "/api/v1"

    @get("/jobs", opt=READS_ALL, sync_to_thread=True)
    def list_all(
        self,
        service: Service,
        last_run_states: LastRunStates = None,
        q: Text = "",
        name: Names = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[JobPage]:
        """List all jobs, latest first.

        By the state of its last run if wanted, by what its name contains (`q`), or by whole
        names (`name`, as often as wanted).
        """
        return _list(service, None, last_run_states, limit, offset, q, name)

    @get("/namespaces/{namespace:str}/jobs", opt=READS_PATH, sync_to_thread=True)
    def list_some(
        self,
        service: Service,
        namespace: PathText,
        last_run_states: LastRunStates = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[JobPage]:
        """List the jobs of a namespace, latest first."""
        return _list(service, unquote(namespace), last_run_states, limit, offset)

    @get(_ONE, opt=READS_PATH, sync_to_thread=True)
    def get_job(self, service: Service, namespace: PathText, name: PathText) -> Response[Job]:
        """Get a job with all its details."""
        with service.open_view() as view:
            found = jobs.jobs(view, [job_of(view, namespace, name)])[0]
            return answer(found)

    @put(_ONE, opt=WRITES_PATH, sync_to_thread=True)
    def put_job(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        data: NewJob,
    ) -> Response[Job]:
        """Create or change a job, like a job event."""
        event = legacy_events.job_event(
            unquote(namespace), unquote(name), kind=data.type or "BATCH",
            inputs=data.inputs or [], outputs=data.outputs or [], location=data.location,
            text=data.description,
        )  # fmt: skip
        ingest_reported(service, request, event)
        with service.open_view() as view:
            found = jobs.jobs(view, [job_of(view, namespace, name)])[0]
        return answer(found)

    @delete(_ONE, opt=ADMINISTERS_PATH, status_code=200, sync_to_thread=True)
    def delete_job(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
    ) -> Response[Job]:
        """Delete a job. It reappears when an event names it again."""
        with service.open_view() as view:
            number = job_of(view, namespace, name)
            found = _brief(view, number)
        found.facets, found.labels = {}, []
        service.delete(request, changes.hide, "job", number)
        return answer(found)

    @get(f"{_ONE}/versions", opt=READS_PATH, sync_to_thread=True)
    def list_versions(
        self,
        service: Service,
        namespace: PathText,
        name: PathText,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[JobVersionPage]:
        """List the versions of a job, latest first."""
        with service.open_view() as view:
            number = job_of(view, namespace, name)
            found, _ = jobs.versions(view, number, None, bounded(limit), bounded(offset))
            return answer(JobVersionPage(found))

    @get(f"{_ONE}/versions/{{version:str}}", opt=READS_PATH, sync_to_thread=True)
    def get_version(
        self, service: Service, namespace: PathText, name: PathText, version: PathText
    ) -> Response[JobVersion]:
        """Get a version of a job."""
        wanted = uuid_bytes(version)
        if wanted is None:
            raise BadRequest(detail="HTTP 404 Not Found", status_code=404)
        with service.open_view() as view:
            number = job_of(view, namespace, name)
            found, _ = jobs.versions(view, number, wanted, 1, 0)
        if not found:
            raise NotFound("Job version", version)
        return answer(found[0])

    @get(f"{_ONE}/children", opt=READS_PATH, sync_to_thread=True)
    def list_children(
        self,
        service: Service,
        namespace: PathText,
        name: PathText,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[JobPage]:
        """List the jobs that a job starts, such as the tasks of a DAG, by name."""
        with service.open_view() as view:
            number = job_of(view, namespace, name)
            found, total = jobs.list_children(view, number, bounded(limit), bounded(offset))
            return answer(JobPage(total, found))

    @get(f"{_ONE}/runs", opt=READS_PATH, sync_to_thread=True)
    def list_runs(
        self,
        service: Service,
        namespace: PathText,
        name: PathText,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[RunPage]:
        """List the runs of a job, latest first."""
        with service.open_view() as view:
            number = job_of(view, namespace, name)
            rows = view.session.all(
                f"SELECT * FROM run WHERE job = ? AND {LISTED} "
                "ORDER BY created_at DESC, uuid DESC LIMIT ? OFFSET ?",
                number, bounded(limit), bounded(offset),
            )  # fmt: skip
            total = view.session.all(
                f"SELECT count(*) FROM run WHERE job = ? AND {LISTED}", number
            )[0][0]
            runs = [RunRow.of(row) for row in rows]
            writer = RunWriter(view, runs)
            return answer(RunPage([writer.write(run) for run in runs], total))

    @post(f"{_ONE}/runs", opt=WRITES_PATH, status_code=201, sync_to_thread=True)
    def post_run(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        data: NewRun,
    ) -> Response[Run]:
        """Create a run. Its state is NEW until it is started. An id is used once."""
        with service.open_view() as view:
            job_of(view, namespace, name)
        run = data.id or str(uuid4())
        start = time_of("nominalStartTime", data.nominal_start_time, 0) or None
        end = time_of("nominalEndTime", data.nominal_end_time, 0) or None
        job = (unquote(namespace), unquote(name))
        # A run that is planned for later exists from now on.
        known_since = None if start is None else min(start, now())
        raw = legacy_events.run_event("OTHER", run, job, known_since)
        event = read_reported(service, request, raw)
        is_new = service.change(
            changes.create_run, event, args=data.args or {}, start=start, end=end
        )
        if not is_new:
            raise BadRequest(detail=f"Run '{run}' already exists.")
        return run_answer(service, run, status=201)

    @post(f"{_ONE}/tags/{{tag:str}}", opt=WRITES_PATH, status_code=200, sync_to_thread=True)
    def add_tag(
        self, service: Service, namespace: PathText, name: PathText, tag: PathText
    ) -> Response[Job]:
        """Add a tag to a job."""
        add = partial(service.change, changes.add_tag)
        return _tag(service, add, namespace, name, unquote(tag))

    @delete(f"{_ONE}/tags/{{tag:str}}", opt=ADMINISTERS_PATH, status_code=200, sync_to_thread=True)
    def drop_tag(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        tag: PathText,
    ) -> Response[Job]:
        """Remove a tag from a job."""
        drop = partial(service.delete, request, changes.drop_tag)
        return _tag(service, drop, namespace, name, unquote(tag))


def _list(
    service: Service, namespace: str | None, states: list[str] | None, limit: int, offset: int,
    text: str = "", names: list[str] | None = None,
) -> Response[JobPage]:  # fmt: skip
    for state in states or ():
        if state not in _STATES:
            told = ", ".join(_STATES)
            raise BadRequest(detail=f"query param lastRunStates must be one of [{told}]")
    with service.open_view() as view:
        found, total = jobs.list_jobs(
            view, namespace, states or [], bounded(limit), bounded(offset), text, names
        )
        return answer(JobPage(total, found))


def _brief(view: StoreView, number: int) -> Job:
    """A job without its runs and outputs, as Marquez answers to a change."""
    found = jobs.jobs(view, [number])[0]
    found.latest_run, found.latest_runs, found.outputs = None, None, []
    return found


def _tag(
    service: Service, change: Callable[..., None], namespace: str, name: str, tag: str
) -> Response[Job]:
    with service.open_view() as view:
        number = job_of(view, namespace, name)
    change("JOB", number, "", tag)
    with service.open_view() as view:
        found = _brief(view, number)
    return answer(found)
