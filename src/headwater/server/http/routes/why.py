"""Where a snapshot of a table came from."""

from litestar import Controller, Response, get

from headwater.api import records
from headwater.server.http.access import READS_NODE
from headwater.server.http.common import answer, dataset_node, name_of, time_of
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.parameters import Node, SnapshotId, Watermark
from headwater.server.lineage.reached import is_topic
from headwater.server.lineage.why import why
from headwater.server.service import Service

_OF = "a snapshot is of a table, such as dataset:s3://BUCKET:PATH"


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
        node = dataset_node(node_id, _OF)
        before = None if watermark is None else time_of("watermark", watermark, 0)
        with service.open_view() as view:
            root = view.find_dataset(node)
            if root is None:
                raise NotFound("Dataset", name_of(node))
            if is_topic(view, root):
                raise BadRequest(detail=f"{name_of(node)} is a topic: {_OF}")
            found = why(view, root, snapshot, before)
        if found is None:
            raise NotFound("Snapshot", snapshot)
        return answer(records.Why(node_id, snapshot, found.is_complete, found.writes))
