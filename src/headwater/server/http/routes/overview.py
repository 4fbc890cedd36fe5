"""What the page opens on."""

from litestar import Controller, Response, get

from headwater.api.graph import WholeGraph
from headwater.server.http.access import READS_ALL
from headwater.server.http.common import answer, bounded, time_of
from headwater.server.http.parameters import AsOf, ByParent, NodeLimit
from headwater.server.lineage.overview import overview
from headwater.server.lineage.view import NOW
from headwater.server.lineage.walk import Walk
from headwater.server.marquez.graph import GraphOptions, lineage_graph
from headwater.server.service import Service


class Overview(Controller):
    """The graph as a whole."""

    tags = ("Lineage",)
    path = "/api/v1/lineage/whole"

    @get("/", opt=READS_ALL, sync_to_thread=True)
    def get_whole(
        self,
        service: Service,
        limit: NodeLimit = 60,
        as_of: AsOf = None,
        by_parent: ByParent = False,
        brief: bool = False,
    ) -> Response[WholeGraph]:
        """Get the whole graph if it has at most `limit` nodes, else its busiest part.

        `brief` leaves out columns and the versions that runs read and wrote: of thousands of
        nodes they are most of the answer.
        """
        with service.open_view(time_of("asOf", as_of, NOW)) as view:
            found, walk = overview(view, bounded(limit)), Walk(view)
            walk.take(found.jobs)
            options = GraphOptions(by_parent, detail=True, brief=brief)
            nodes = lineage_graph(view, walk, options).graph if found.jobs else []
            return answer(WholeGraph(nodes, found.total, found.is_whole))
