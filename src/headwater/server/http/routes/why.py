"""Where a snapshot of a table came from."""

from litestar import Controller, Response, get

from headwater.api import records
from headwater.openlineage.names import NodeKind
from headwater.server.http.access import READS_NODE
from headwater.server.http.common import answer, name_of, time_of
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.parameters import Node, SnapshotId, Watermark
from headwater.server.http.routes.history import parse_node
from headwater.server.lineage.why import why
from headwater.server.service import Service


class Why(Controller):
    """Snapshots, followed back to offsets of topics."""

    tags = ("Lineage",)
    path = "/api/v1"

    @get("/why", opt=READS_NODE, sync_to_thread=True)
    def get_why(
        self, service: Service, node_id: Node, snapshot: SnapshotId, watermark: Watermark = None
    ) -> Response[records.Why]:
        """List the runs that wrote what is in a snapshot of a table, with what they read.

        The first is the run that made the snapshot; those after it wrote the tables that it read.
        Of a stream that keeps state the offsets begin with the topic, or, if `watermark` is given,
        where the stream's watermark was last before that time.
        """
        node = parse_node(node_id)
        if node.kind is not NodeKind.DATASET:
            raise BadRequest(detail="a snapshot is of a table: dataset:NAMESPACE:NAME")
        before = None if watermark is None else time_of("watermark", watermark, 0)
        with service.open_view() as view:
            root = view.find_dataset(node)
            if root is None:
                raise NotFound("Dataset", name_of(node))
            found = why(view, root, snapshot, before)
        if found is None:
            raise NotFound("Snapshot", snapshot)
        return answer(records.Why(node_id, snapshot, found.is_complete, found.writes))
