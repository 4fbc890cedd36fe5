"""What records of a Kafka topic reached."""

from litestar import Controller, Response, get

from headwater.api import records
from headwater.server.http.access import READS_NODE
from headwater.server.http.common import answer, dataset_node, name_of
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.parameters import FirstOffset, LastOffset, Node, Partition
from headwater.server.lineage.reached import is_topic, reached
from headwater.server.service import Service

_FROM = "records are followed from a Kafka topic, such as dataset:kafka://HOST:PORT:TOPIC"


class Reached(Controller):
    """Records, followed through commits, snapshots and runs."""

    tags = ("Lineage",)
    path = "/api/v1"

    @get("/reached", opt=READS_NODE, sync_to_thread=True)
    def get_reached(
        self,
        service: Service,
        node_id: Node,
        partition: Partition,
        first_offset: FirstOffset,
        last_offset: LastOffset,
    ) -> Response[records.Reached]:
        """List the jobs, runs, snapshots and datasets that records of a topic reached.

        Jobs are in the order in which to run them again.
        """
        node = dataset_node(node_id, _FROM)
        if last_offset < first_offset:
            raise BadRequest(detail="lastOffset must not be before firstOffset")
        with service.open_view() as view:
            root = view.find_dataset(node)
            if root is None:
                raise NotFound("Dataset", name_of(node))
            if not is_topic(view, root):
                raise BadRequest(detail=f"{name_of(node)} is not a topic: {_FROM}")
            found = reached(view, root, str(partition), first_offset, last_offset + 1)
        if found.ends and str(partition) not in found.ends:
            known = ", ".join(sorted(found.ends, key=lambda one: (len(one), one)))
            read = f": runs have read {known} of {name_of(node)}"
            raise NotFound("Partition", str(partition), read)
        end = found.ends.get(str(partition))
        return answer(
            records.Reached(
                node_id, partition, first_offset, last_offset, found.is_complete, found.jobs, end
            )
        )
