"""What happens, as it happens: server-sent events."""

import re
from collections.abc import AsyncIterator, Hashable
from contextlib import ExitStack
from typing import Any

from anyio.to_thread import run_sync
from litestar import Controller, Request, get
from litestar.response import Stream
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.http.keys import Key
from headwater.openlineage.names import NodeKind
from headwater.openlineage.times import FOREVER
from headwater.server.http.access import READS_SOME
from headwater.server.http.errors import BadRequest, NotFound, TooManyStreams
from headwater.server.http.parameters import LastEventId, OptionalNode, StreamTypes
from headwater.server.http.routes.history import parse_node
from headwater.server.live.items import TYPES, Filter, nodes_about
from headwater.server.service import Service

_DIGITS = re.compile(r"[0-9]{1,19}")  # str.isdigit takes superscripts for digits
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def released(app: ASGIApp) -> ASGIApp:
    """An application that lets go, when its answer has ended, of what its handler holds."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as stack:
            scope["state"]["held"] = stack
            await app(scope, receive, send)

    return wrapped


class Streams(Controller):
    """Changes as they commit."""

    tags = ("Live",)
    path = "/api/v1/stream"
    middleware = (released,)

    @get("/", opt=READS_SOME, media_type="text/event-stream")
    async def get_stream(
        self,
        service: Service,
        request: Request[Any, Any, Any],
        node_id: OptionalNode = None,
        types: StreamTypes = None,
        last_event_id: LastEventId = None,
    ) -> Stream:
        """Stream run states, progress and graph changes, from now or after Last-Event-ID.

        About a job, or about a dataset and the jobs that read and write it, if `nodeId` is given.
        """
        key: Key | None = request.scope["state"].get("key")
        nodes = None if node_id is None else await run_sync(_about, service, node_id)
        wanted = Filter(_types(types), nodes, key)
        after = _number(last_event_id)
        watcher = service.watchers.admitted(*_names(request, key))
        if not request.scope["state"]["held"].enter_context(watcher):
            raise TooManyStreams(service.watchers.most)
        text = service.live.watch(wanted, after)
        return Stream(_flowing(text), media_type="text/event-stream", headers=_HEADERS)


async def _flowing(text: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in text:
        yield part


def _names(request: Request[Any, Any, Any], key: Key | None) -> list[Hashable]:
    """Under what a stream is counted: its key and its address."""
    client = request.scope.get("client")
    return [("address", client[0] if client else ""), *([("key", key.id)] if key else [])]


def _types(text: str | None) -> frozenset[str]:
    wanted = frozenset(filter(None, (text or ",".join(TYPES)).split(",")))
    if not wanted <= {*TYPES}:
        raise BadRequest(detail=f"query param types must be some of {[*TYPES]}")
    return wanted


def _number(text: str | None) -> int | None:
    if text is None or not text.strip():
        return None
    if not _DIGITS.fullmatch(text.strip()) or int(text) > FOREVER:
        raise BadRequest(detail="Last-Event-ID must be the id of an event of this stream")
    return int(text)


def _about(service: Service, text: str) -> frozenset[str]:
    node = parse_node(text)
    with service.open_view() as view:
        found = nodes_about(view, text)
    if found is None:
        raise NotFound("Job" if node.kind is NodeKind.JOB else "Dataset", text)
    return found
