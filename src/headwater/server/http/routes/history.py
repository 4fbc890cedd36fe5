"""Questions about history: when the graph changed, and how."""

from litestar import Controller, Response, get

from headwater.api.history import ChangePage, Diff
from headwater.openlineage.names import NodeId, NodeKind
from headwater.openlineage.times import FOREVER
from headwater.server.http.access import READS_ALL
from headwater.server.http.common import answer, bounded, name_of, time_of
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.parameters import Depth, From, Limit, OptionalNode, To
from headwater.server.lineage.changes import changes
from headwater.server.lineage.diff import diff_around, diff_everywhere
from headwater.server.lineage.view import NOW
from headwater.server.lineage.walk import walk_around
from headwater.server.service import Service


class History(Controller):
    """What changed, and when."""

    tags = ("History",)
    path = "/api/v1/lineage"

    @get("/changes", opt=READS_ALL, sync_to_thread=True)
    def get_changes(
        self,
        service: Service,
        node_id: OptionalNode = None,
        depth: Depth = 20,
        after: From = None,
        to: To = None,
        limit: Limit = 1000,
    ) -> Response[ChangePage]:
        """List the times at which the graph changed, oldest first; the latest `limit` of them."""
        since, at = window(after, to)
        with service.open_view(at) as view:
            walk = None
            if node_id is not None:
                node = parse_node(node_id)
                walk = walk_around(view, node, bounded(depth), since=since)
                if walk is None:
                    raise _not_found(node)
            found = changes(view, since, walk, bounded(limit))
        return answer(ChangePage(found))

    @get("/diff", opt=READS_ALL, sync_to_thread=True)
    def get_diff(
        self,
        service: Service,
        node_id: OptionalNode = None,
        depth: Depth = 20,
        after: From = None,
        to: To = None,
    ) -> Response[Diff]:
        """Get what was added, removed and changed between two times, and by which run."""
        since, at = window(after, to)
        node = None if node_id is None else parse_node(node_id)
        with service.open_view(since) as before:
            later = before.at_moment(at)
            if node is None:
                return answer(diff_everywhere(before, later))
            found = diff_around(before, later, node, bounded(depth))
        if found is None:
            raise _not_found(node)
        return answer(found)


def window(after: str | None, to: str | None) -> tuple[int, int]:
    """Two times among the parameters.

    Raises: BadRequest, when they are the wrong way round.
    """
    since, at = time_of("from", after, -FOREVER), time_of("to", to, NOW)
    if since > at:
        raise BadRequest(detail="query param from is later than to")
    return since, at


def parse_node(text: str) -> NodeId:
    """A node id among the parameters.

    Raises: BadRequest, when it is none.
    """
    node = NodeId.parse(text)
    if node is None or node.kind is NodeKind.RUN:
        raise BadRequest(detail="HTTP 404 Not Found", status_code=404)
    return node


def _not_found(node: NodeId) -> NotFound:
    return NotFound("Job" if node.kind is NodeKind.JOB else "Dataset", name_of(node))
