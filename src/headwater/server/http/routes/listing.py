"""Runs and datasets across namespaces."""

from litestar import Controller, Response, get

from headwater.api.datasets import TablePage
from headwater.api.graph import DatasetDataPage
from headwater.api.runs import ListedRunPage
from headwater.server.http.access import READS_ALL, READS_QUERY
from headwater.server.http.common import answer, bounded
from headwater.server.http.parameters import Limit, Offset, OptionalText, States, Text
from headwater.server.lineage.warehouse import tables
from headwater.server.marquez.listing import list_datasets, list_runs
from headwater.server.service import Service


class Listing(Controller):
    """What tables show."""

    tags = ("Listing",)
    path = "/api/v1"

    @get("/runs", opt=READS_ALL, sync_to_thread=True)
    def get_runs(
        self,
        service: Service,
        states: States = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[ListedRunPage]:
        """List the runs of all jobs, latest first."""
        with service.open_view() as view:
            found, total = list_runs(view, states or [], bounded(limit), bounded(offset))
            return answer(ListedRunPage(found, total))

    @get("/datasets", opt=READS_QUERY, sync_to_thread=True)
    def get_datasets(
        self,
        service: Service,
        q: Text = "",
        namespace: OptionalText = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> Response[DatasetDataPage]:
        """List the datasets of all namespaces, latest first; `q` is part of the name."""
        with service.open_view() as view:
            found, total = list_datasets(
                view, q.strip(), namespace, bounded(limit), bounded(offset)
            )
            return answer(DatasetDataPage(found, total))

    @get("/tables", opt=READS_ALL, sync_to_thread=True)
    def get_tables(self, service: Service) -> Response[TablePage]:
        """List tables that have a catalog name or snapshots, newest snapshots first."""
        with service.open_view() as view:
            return answer(TablePage(tables(view)))
