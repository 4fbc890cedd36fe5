"""Questions about the graph: lineage, column lineage, runs upstream, raw events."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import anyio.to_thread
from litestar import MediaType, Response, get
from litestar.response import Stream

from headwater.api.events import EventPage
from headwater.api.graph import ColumnGraph, Graph
from headwater.api.runs import UpstreamRuns
from headwater.openlineage.names import NodeId, NodeKind
from headwater.openlineage.times import FOREVER
from headwater.server.http.access import READS_ALL, READS_NODE, READS_RUN
from headwater.server.http.common import answer, bounded, name_of, time_of
from headwater.server.http.errors import BadParameters, BadRequest, NotFound
from headwater.server.http.parameters import (
    AsOf,
    ByParent,
    Depth,
    Detail,
    EventKind,
    Limit,
    Mode,
    Node,
    Offset,
    OptionalRunId,
    RunId,
    SortDirection,
    Time,
    WithDownstream,
)
from headwater.server.http.routes.ingest import Ingest
from headwater.server.lineage import events
from headwater.server.lineage.columns import Column, ColumnWalk
from headwater.server.lineage.upstream import runs_upstream
from headwater.server.lineage.view import NOW, StoreView, uuid_bytes
from headwater.server.lineage.walk import EVER, Walk, walk_around
from headwater.server.marquez.column_graph import column_graph
from headwater.server.marquez.dataset_versions import find_version
from headwater.server.marquez.graph import GraphOptions, lineage_graph
from headwater.server.service import Service
from headwater.server.store.log import in_parts
from headwater.server.store.tables import OUTPUT

_PART_BYTES = 4 * 2**20  # of events that are read at once, if one alone is not larger
_NOWHERE = "HTTP 404 Not Found"


class Lineage(Ingest):
    """The lineage graph; one controller with `Ingest`, for they share a path."""

    tags = ("Lineage",)

    @get("/lineage", opt=READS_NODE, sync_to_thread=True)
    def get_lineage(
        self,
        service: Service,
        node_id: Node,
        depth: Depth = 20,
        by_parent: ByParent = False,
        detail: Detail = False,
        as_of: AsOf = None,
        mode: Mode = None,
    ) -> Response[Graph]:
        """Get the graph around a dataset or a job; depth counts jobs.

        `detail` shows a child job by its own last run, not its parent's, and tags.
        """
        node = _node(node_id)
        if mode not in (None, "", "current", "cumulative"):
            raise BadRequest(detail="query param mode must be one of [current, cumulative]")
        if node.kind not in (NodeKind.JOB, NodeKind.DATASET):
            raise BadRequest(detail="lineage is asked of a dataset or a job")
        is_cumulative = mode == "cumulative"
        with service.open_view(time_of("asOf", as_of, NOW)) as view:
            walk = walk_around(view, node, bounded(depth), since=EVER if is_cumulative else None)
            if walk is None:
                raise NotFound("Job" if node.kind is NodeKind.JOB else "Dataset", name_of(node))
            options = GraphOptions(by_parent, detail, dated=is_cumulative)
            return answer(lineage_graph(view, walk, options))

    @get("/column-lineage", opt=READS_NODE, sync_to_thread=True)
    def get_column_lineage(
        self,
        service: Service,
        node_id: Node,
        depth: Depth = 20,
        with_downstream: WithDownstream = False,
        detail: Detail = False,
        as_of: AsOf = None,
    ) -> Response[ColumnGraph]:
        """Get the column lineage of a column, or of all columns of a dataset or job.

        `detail` tells every transformation of each input, and the job that makes it.
        """
        node = _meant(service, _node(node_id))
        if node.version and with_downstream:
            raise BadRequest(detail="a version is followed upstream only: it is what it was")
        if node.version and as_of is not None:
            raise BadRequest(detail="a version is of one moment already; leave out asOf")
        at = _moment_of_version(service, node) if node.version else time_of("asOf", as_of, NOW)
        with service.open_view(at) as view:
            walk = ColumnWalk(view)
            start = _start(view, walk, node)
            walk.upstream(start, bounded(depth))
            if with_downstream:
                walk.downstream(start, bounded(depth))
            found = column_graph(
                view,
                walk,
                is_versioned=node.version is not None,
                is_detailed=detail,
            )
            return answer(found)

    @get("/runlineage/upstream", opt=READS_ALL, sync_to_thread=True)
    def get_runs_upstream(
        self,
        service: Service,
        run_id: RunId,
        depth: Depth = 20,
    ) -> Response[UpstreamRuns]:
        """List the runs upstream of a run."""
        uuid = uuid_bytes(run_id)
        with service.open_view() as view:
            found = runs_upstream(view, uuid, bounded(depth)) if uuid else None
        if found is None:
            raise NotFound("Run", run_id)
        return answer(UpstreamRuns(found))

    @get("/events/lineage", opt=READS_RUN, sync_to_thread=True)
    def get_events(
        self,
        service: Service,
        before: Time = None,
        after: Time = None,
        sort_direction: SortDirection = "desc",
        limit: Limit = 100,
        offset: Offset = 0,
        kind: EventKind = "run",
        run_id: OptionalRunId = None,
    ) -> Response[EventPage]:
        """List raw events, by event time."""
        if sort_direction.lower() not in ("asc", "desc"):
            raise BadRequest(detail="query param sortDirection must be one of [DESC, ASC]")
        if kind not in events.KINDS:
            raise BadRequest(detail=f"query param kind must be one of {[*events.KINDS]}")
        window = events.Window(
            time_of("after", after, -FOREVER),
            time_of("before", before, FOREVER),
            sort_direction.lower() == "desc",
            bounded(limit),
            bounded(offset),
            kind,
            _run(run_id),
        )
        with service.open_view() as view:
            sizes, total = events.find_events(view, window)
            if sum(sizes.values()) <= _PART_BYTES:
                bodies = events.read_events(view, [*sizes])
                body: Any = events.as_array("events", bodies, total)
                return Response(body, media_type=MediaType.JSON)
        parts = in_parts([*sizes], sizes, _PART_BYTES)
        stream: Any = Stream(_events_in_parts(service, parts, total), media_type=MediaType.JSON)
        return cast("Response[EventPage]", stream)


async def _events_in_parts(
    service: Service, parts: Iterator[list[int]], total: int
) -> AsyncIterator[bytes]:
    """Events as an answer that is never held as a whole; each part has a few megabytes."""

    def read(part: list[int]) -> list[bytes]:
        with service.open_view() as view:
            return events.read_events(view, part)

    yield b'{"totalCount":%d,"events":[' % total
    is_first = True
    for part in parts:
        for body in await anyio.to_thread.run_sync(read, part):
            if not is_first:
                yield b","
            yield body
            is_first = False
    yield b"]}"


def _run(run_id: str | None) -> bytes | None:
    if run_id is None:
        return None
    uuid = uuid_bytes(run_id)
    if uuid is None:
        raise BadParameters("query param runId must be a UUID")
    return uuid


def _node(text: str) -> NodeId:
    node = NodeId.parse(text)
    if node is None:
        raise BadRequest(detail=_NOWHERE, status_code=404)
    return node


def _meant(service: Service, node: NodeId) -> NodeId:
    """What ends in a version is a version, unless something goes by that name."""
    if node.version is None:
        return node
    with service.open_view() as view:
        find = view.find_job if node.kind is NodeKind.JOB else view.find_dataset
        return node if find(node.whole) is None else node.whole


def _start(view: StoreView, walk: ColumnWalk, node: NodeId) -> list[Column]:
    """The columns that a node id speaks of."""
    if node.kind is NodeKind.FIELD:
        column = view.find_field(node)
        if column is not None and walk.knows(column):
            return [column]
    elif node.kind is NodeKind.DATASET:
        root = view.find_dataset(node)
        if root is not None:
            return walk.outputs_of(root)
    elif node.kind is NodeKind.JOB:
        job = view.find_job(node)
        if job is not None:
            return [c for root in _outputs(view, job) for c in walk.outputs_of(root)]
    raise BadRequest(detail="Could not find node", status_code=404)


def _outputs(view: StoreView, job: int) -> list[int]:
    walk = Walk(view)
    walk.take({job})
    return sorted(walk.outputs[job])


def _moment_of_version(service: Service, node: NodeId) -> int:
    version = uuid_bytes(node.version or "")
    with service.open_view() as view:
        rows = view.session.all(
            "SELECT last FROM run_io WHERE version = ? AND io = ?", version, OUTPUT
        )
        if rows:
            return int(rows[0][0])
        found = find_version(view, view.find_dataset(node), version or b"")
    if found is None:
        raise BadRequest(detail="Could not find node", status_code=404)
    return NOW
