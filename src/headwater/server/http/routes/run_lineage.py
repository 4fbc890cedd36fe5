"""One run: what it read and wrote, and the runs before and after it."""

from typing import Any
from urllib.parse import unquote

from litestar import Controller, Request, Response, get

from headwater.http.keys import Key
from headwater.server.answers.owners import namespaces_of_run
from headwater.server.answers.progress import points, snapshots
from headwater.server.answers.run_lineage import run_lineage, snapshot_offsets
from headwater.server.http.access import READS_PATH, READS_RUN
from headwater.server.http.common import answer, dataset_of
from headwater.server.http.errors import NotFound
from headwater.server.http.parameters import PathText
from headwater.server.http.routes.runs import find_run
from headwater.server.service import Service


class RunLineage(Controller):
    """Lineage run by run."""

    tags = ("Runs",)
    path = "/api/v1"

    @get("/runs/{run_id:str}/lineage", opt=READS_RUN, sync_to_thread=True)
    def get_run_lineage(self, service: Service, run_id: PathText) -> Response[bytes]:
        """Get the dataset versions, offsets and snapshots of a run, and the adjacent runs."""
        with service.reader.open() as reading:
            return answer(run_lineage(reading, find_run(reading, run_id)))

    @get("/runs/{run_id:str}/progress", opt=READS_RUN, sync_to_thread=True)
    def get_progress(self, service: Service, run_id: PathText) -> Response[bytes]:
        """Get the throughput and lag of a streaming run over time, oldest first."""
        with service.reader.open() as reading:
            return answer({"points": points(reading, find_run(reading, run_id).id)})

    @get(
        "/namespaces/{namespace:str}/datasets/{name:str}/snapshots",
        opt=READS_PATH,
        sync_to_thread=True,
    )
    def get_snapshots(
        self, service: Service, namespace: PathText, name: PathText
    ) -> Response[bytes]:
        """List the latest reported snapshots of an Iceberg table, newest first."""
        with service.reader.open() as reading:
            return answer({"snapshots": snapshots(reading, dataset_of(reading, namespace, name))})

    @get(
        "/namespaces/{namespace:str}/datasets/{name:str}/snapshots/{snapshot:str}/offsets",
        opt=READS_PATH,
        sync_to_thread=True,
    )
    def get_snapshot_offsets(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        namespace: PathText,
        name: PathText,
        snapshot: PathText,
    ) -> Response[bytes]:
        """Get the Kafka offsets in an Iceberg snapshot, as far as events report them."""
        key: Key | None = request.scope["state"].get("key")
        with service.reader.open() as reading:
            dataset = dataset_of(reading, namespace, name)
            found = snapshot_offsets(reading, dataset, unquote(snapshot))
            if found is not None and key is not None and key.is_limited:
                owners = namespaces_of_run(reading, found["runId"])
                found = found if any(key.covers(owner) for owner in owners) else None
        if found is None:
            raise NotFound("Snapshot", snapshot)
        return answer(found)
