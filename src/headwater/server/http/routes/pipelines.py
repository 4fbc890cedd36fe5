"""Pipelines: what the page asks of workers and Kafka Connect clusters, passed on to them."""

from typing import Any
from urllib.parse import unquote

from litestar import Controller, Request, Response, delete, get, patch, post, put

from headwater.api.catalog import ConnectCluster
from headwater.errors import (
    HeadwaterError,
    PipelineAnswerUnusable,
    PipelineUnreachable,
    UnknownPipeline,
)
from headwater.server.http.access import ADMINISTERS_ALL, READS_ALL
from headwater.server.http.common import answer
from headwater.server.http.errors import BadRequest
from headwater.server.http.parameters import PathText
from headwater.server.service import Service

_ONE = "/{name:str}/{rest:path}"
_ROOMS = ("connectors", "connector-plugins")
_CODES: dict[type[HeadwaterError], int] = {
    UnknownPipeline: 404,
    PipelineUnreachable: 502,
    PipelineAnswerUnusable: 502,
}


def _told(_: Request[Any, Any, Any], error: HeadwaterError) -> Response[Any]:
    code = _CODES[type(error)]
    return answer({"code": code, "message": error.message, "hint": error.hint}, code)


class Pipelines(Controller):
    """Clusters, their connectors, and what may be done to these."""

    tags = ("Pipelines",)
    path = "/api/v1/pipelines"
    exception_handlers = dict.fromkeys(_CODES, _told)

    @get("/", opt=READS_ALL)
    async def list_clusters(self, service: Service) -> Response[list[ConnectCluster]]:
        """List the clusters of the server, and whether they answer."""
        return answer(await service.clusters.all() if service.clusters else [])

    @get(_ONE, opt=READS_ALL)
    async def read(
        self, service: Service, request: Request[Any, Any, Any], name: PathText, rest: PathText
    ) -> Response[Any]:
        """Forward a read request to a cluster's Kafka Connect REST API; secrets are masked."""
        return await _pass_on(service, request, name, rest)

    @post(_ONE, opt=ADMINISTERS_ALL)
    async def create(
        self, service: Service, request: Request[Any, Any, Any], name: PathText, rest: PathText
    ) -> Response[Any]:
        """Create or restart a connector."""
        return await _pass_on(service, request, name, rest)

    @put(_ONE, opt=ADMINISTERS_ALL)
    async def change(
        self, service: Service, request: Request[Any, Any, Any], name: PathText, rest: PathText
    ) -> Response[Any]:
        """Configure, validate, pause, resume or stop a connector; masked secrets are kept."""
        return await _pass_on(service, request, name, rest)

    @patch(_ONE, opt=ADMINISTERS_ALL)
    async def mend(
        self, service: Service, request: Request[Any, Any, Any], name: PathText, rest: PathText
    ) -> Response[Any]:
        """Change part of a configuration, or offsets."""
        return await _pass_on(service, request, name, rest)

    @delete(_ONE, opt=ADMINISTERS_ALL, status_code=200)
    async def remove(
        self, service: Service, request: Request[Any, Any, Any], name: PathText, rest: PathText
    ) -> Response[Any]:
        """Delete a connector or its offsets."""
        return await _pass_on(service, request, name, rest)


async def _pass_on(
    service: Service, request: Request[Any, Any, Any], name: str, rest: str
) -> Response[Any]:
    path = str(rest).strip("/")
    if path.split("/")[0] not in _ROOMS or ".." in path.split("/"):
        raise BadRequest(detail=f"{path!r} is not of Kafka Connect's API", status_code=404)
    if service.clusters is None:
        raise UnknownPipeline(unquote(name), [])
    if request.method != "GET":
        await service.audit(request)
    found = await service.clusters.pass_on(
        unquote(name), request.method, path, request.scope["query_string"], await request.body()
    )
    return Response(found.body, status_code=found.status, media_type=found.kind)
