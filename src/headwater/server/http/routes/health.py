"""Whether the server is alive, ready, and how it does."""

from anyio import to_thread
from litestar import Controller, MediaType, Response, get

from headwater.api.catalog import Status
from headwater.server import metrics
from headwater.server.http.access import ANYONE, READS_ALL
from headwater.server.http.common import answer
from headwater.server.service import Service
from headwater.version import __version__


class Health(Controller):
    """Health, readiness and figures."""

    tags = ("Operations",)

    @get("/health", opt=ANYONE, sync_to_thread=False)
    def health(self) -> Response[Status]:
        """Check that the process is alive."""
        return answer(Status("ok", __version__))

    @get("/ready", opt=ANYONE)
    async def ready(self, service: Service) -> Response[Status]:
        """Check that the store accepts writes; 503 with the reason if not."""
        await to_thread.run_sync(_check, service, limiter=service.checks)
        return answer(Status("ready", __version__))

    @get("/metrics", opt=READS_ALL, media_type=MediaType.TEXT, sync_to_thread=True)
    def metrics(self, service: Service) -> Response[bytes]:
        """Get metrics in Prometheus format."""
        metrics.WAITING.set(service.store.writer.waiting())
        metrics.STORE_BYTES.set(service.store.database.size())
        return Response(metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _check(service: Service) -> None:
    with service.open_view() as view:
        view.session.all("SELECT generation FROM clock")
    failure = service.store.write_failure()
    if failure is not None:
        raise failure
