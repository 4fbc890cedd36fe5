"""One run: what it read and wrote, and the runs before and after it."""

from urllib.parse import unquote

from litestar import Controller, Response, get

from headwater.api import runs
from headwater.api.datasets import SnapshotOffsets, SnapshotPage
from headwater.server.http.access import READS_PATH, READS_RUN
from headwater.server.http.common import answer, dataset_of
from headwater.server.http.errors import NotFound
from headwater.server.http.parameters import PathText
from headwater.server.http.routes.runs import find_run
from headwater.server.lineage.makers import snapshot_offsets
from headwater.server.lineage.progress import points, snapshots
from headwater.server.lineage.run_lineage import run_lineage
from headwater.server.marquez.runs import RunWriter
from headwater.server.service import Service


class RunLineage(Controller):
    """Lineage run by run."""

    tags = ("Runs",)
    path = "/api/v1"

    @get("/runs/{run_id:str}/lineage", opt=READS_RUN, sync_to_thread=True)
    def get_run_lineage(self, service: Service, run_id: PathText) -> Response[runs.RunLineage]:
        """Get the dataset versions, offsets and snapshots of a run, and the adjacent runs."""
        with service.open_view() as view:
            row = find_run(view, run_id)
            run = RunWriter(view, [row]).write(row)
            return answer(run_lineage(view, row, run))

    @get("/runs/{run_id:str}/progress", opt=READS_RUN, sync_to_thread=True)
    def get_progress(self, service: Service, run_id: PathText) -> Response[runs.RunProgress]:
        """Get the throughput and lag of a streaming run over time, oldest first."""
        with service.open_view() as view:
            return answer(runs.RunProgress(points(view, find_run(view, run_id).id)))

    @get(
        "/namespaces/{namespace:str}/datasets/{name:str}/snapshots",
        opt=READS_PATH,
        sync_to_thread=True,
    )
    def get_snapshots(
        self, service: Service, namespace: PathText, name: PathText
    ) -> Response[SnapshotPage]:
        """List the latest reported snapshots of an Iceberg table, newest first."""
        with service.open_view() as view:
            return answer(SnapshotPage(snapshots(view, dataset_of(view, namespace, name))))

    @get(
        "/namespaces/{namespace:str}/datasets/{name:str}/snapshots/{snapshot:str}/offsets",
        opt=READS_PATH,
        sync_to_thread=True,
    )
    def get_snapshot_offsets(
        self, service: Service, namespace: PathText, name: PathText, snapshot: PathText
    ) -> Response[SnapshotOffsets]:
        """Get the Kafka offsets in an Iceberg snapshot, as far as events report them."""
        with service.open_view() as view:
            dataset = dataset_of(view, namespace, name)
            found = snapshot_offsets(view, dataset, unquote(snapshot))
        if found is None:
            raise NotFound("Snapshot", snapshot)
        return answer(found)
