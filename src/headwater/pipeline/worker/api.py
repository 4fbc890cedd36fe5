"""Kafka Connect's REST API over a worker."""

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import unquote

import anyio.to_thread
from anyio import CapacityLimiter
from litestar import Litestar, MediaType, Request, Response, delete, get, patch, post, put
from litestar.exceptions import HTTPException
from litestar.params import QueryParameter
from msgspec import Struct

from headwater.errors import (
    BadConfig,
    ConnectorConflict,
    HeadwaterError,
    SecretMissing,
    TargetOwned,
    UnknownConnector,
    UnknownJob,
    UnknownLogger,
)
from headwater.http.addresses import forgetting_long_addresses
from headwater.openlineage.masking import mask_text
from headwater.pipeline.config import CLASSES, Kind
from headwater.pipeline.keys import SCHEMAS
from headwater.pipeline.states import State
from headwater.pipeline.worker.host import Worker
from headwater.pipeline.worker.loggers import Loggers
from headwater.pipeline.worker.validation import definition, validated
from headwater.version import __version__

if TYPE_CHECKING:
    from litestar.types import ASGIApp

_STATUS = {
    BadConfig: 400,
    SecretMissing: 400,
    TargetOwned: 400,
    UnknownJob: 400,
    UnknownConnector: 404,
    UnknownLogger: 404,
    ConnectorConflict: 409,
}
_log = logging.getLogger(__name__)
_NAMED = ("name", "plugin", "logger")
_READERS, _WAITING = 20, 40  # threads
_TYPES = {Kind.GENERATOR: "source", Kind.JOB: "source"}


class Deployment(Struct):
    """The body that creates a connector."""

    name: str
    config: dict[str, Any]
    initial_state: Literal["RUNNING", "PAUSED", "STOPPED"] = "RUNNING"


def make_app(worker: Worker, address: str) -> "ASGIApp":
    """The API as an ASGI application."""
    return forgetting_long_addresses(make_api(worker, address))


def make_api(worker: Worker, address: str) -> Litestar:
    """Every route of the API."""
    return Litestar(
        _routes(worker, address),
        exception_handlers={
            HeadwaterError: _explained,
            HTTPException: _refused,
            RecursionError: _too_deep,
            Exception: _failed,
        },
        openapi_config=None,
    )


def _in_thread(limiter: CapacityLimiter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a handler in a thread of a group of its own.

    Litestar's own `sync_to_thread` breaks where three handlers share a path.
    """

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(handler)
        async def run(**arguments: Any) -> Any:
            # Paths keep their escapes up to here, so that a name may have any character.
            arguments |= {key: unquote(arguments[key]) for key in _NAMED if key in arguments}
            call = functools.partial(handler, **arguments)
            return await anyio.to_thread.run_sync(call, limiter=limiter)

        return run

    return decorate


def _routes(worker: Worker, address: str) -> list[Any]:
    # Snapshots are read at once. What changes something, or reads logs, may wait for a service:
    # however many of these wait, they leave the threads of the others alone.
    threaded, waiting = _in_thread(CapacityLimiter(_READERS)), _in_thread(CapacityLimiter(_WAITING))

    loggers = Loggers()

    def info(name: str) -> dict[str, Any]:
        config = worker.definition(name).shown()
        count = len(worker.task_names(name))
        tasks = [{"connector": name, "task": number} for number in range(count)]
        return {"name": name, "config": config, "tasks": tasks, "type": _type(config)}

    def status(name: str) -> dict[str, Any]:
        found = worker.snapshot(name)
        tasks = [
            {"id": number, **_state(task.state, task.trace, address)}
            for number, task in enumerate(found.tasks)
        ]
        connector = _state(found.state, found.trace, address)
        kind = _type(worker.definition(name).config)
        return {"name": name, "connector": connector, "tasks": tasks, "type": kind}

    @get("/", sync_to_thread=False)
    def root() -> dict[str, str]:
        return {"version": __version__, "commit": "headwater", "kafka_cluster_id": "headwater"}

    @get("/connectors")
    @threaded
    def connectors(request: Request[Any, Any, Any]) -> Any:
        expand = [
            part for one in request.query_params.getall("expand", []) for part in one.split(",")
        ]
        if not expand:
            return worker.names()
        ways = {"info": info, "status": status}
        return {
            name: {one: ways[one](name) for one in expand if one in ways} for name in worker.names()
        }

    @post("/connectors")
    @waiting
    def create(data: Deployment, takeover: bool = False) -> Response[Any]:
        worker.create(data.name, data.config, State(data.initial_state), takeover=takeover)
        return Response(info(data.name), status_code=201)

    @get("/connectors/{name:str}")
    @threaded
    def connector(name: str) -> Any:
        return info(name)

    @delete("/connectors/{name:str}")
    @waiting
    def remove(name: str, purge: str | None = None) -> None:
        worker.delete(name, purge=purge is not None and purge.lower() != "false")

    @get("/connectors/{name:str}/config")
    @threaded
    def config(name: str) -> Any:
        return worker.definition(name).shown()

    @put("/connectors/{name:str}/config")
    @waiting
    def configure(name: str, data: dict[str, Any], takeover: bool = False) -> Response[Any]:
        _, new = worker.configure(name, data, takeover=takeover)
        return Response(info(name), status_code=201 if new else 200)

    @patch("/connectors/{name:str}/config")
    @waiting
    def change(name: str, data: dict[str, Any], takeover: bool = False) -> Any:
        worker.patch(name, data, takeover=takeover)
        return info(name)

    @get("/connectors/{name:str}/status")
    @threaded
    def status_of(name: str) -> Any:
        return status(name)

    @get("/connectors/{name:str}/tasks")
    @threaded
    def tasks(name: str) -> Any:
        return [
            {"id": one, "config": worker.definition(name).shown()} for one in info(name)["tasks"]
        ]

    @get("/connectors/{name:str}/tasks/{number:int}/status")
    @threaded
    def task_status(name: str, number: int) -> Any:
        found = status(name)["tasks"]
        if number >= len(found):
            raise UnknownConnector(f"{name}, task {number},")
        return found[number]

    @post("/connectors/{name:str}/tasks/{number:int}/restart", status_code=204)
    @waiting
    def restart_task(name: str, number: int) -> None:
        worker.restart_task(name, number)

    @get("/connectors/{name:str}/topics")
    @threaded
    def topics(name: str) -> Any:
        return {name: {"topics": worker.topics(name)}}

    @put("/connectors/{name:str}/topics/reset")
    @threaded
    def reset_topics(name: str) -> Response[bytes]:
        worker.definition(name)  # ours are those of the configuration: there is none to forget
        return _accepted()

    @get("/connectors/{name:str}/logs")
    @threaded
    def logs(name: str, lines: int = 100) -> Any:
        return {"lines": worker.logs(name, lines)}

    @get("/connectors/{name:str}/offsets")
    @waiting
    def offsets(name: str) -> Any:
        return {"offsets": worker.offsets(name)}

    @delete("/connectors/{name:str}/offsets", status_code=200)
    @waiting
    def forget(name: str) -> Any:
        with _bad_request():
            worker.forget_offsets(name)
        return {"message": "The offsets for this connector have been reset successfully"}

    @patch("/connectors/{name:str}/offsets")
    @waiting
    def move(name: str, data: dict[str, list[dict[str, Any]]]) -> Any:
        with _bad_request():
            worker.move_offsets(name, data.get("offsets", []))
        return {"message": "The offsets for this connector have been altered successfully"}

    @put("/connectors/{name:str}/pause")
    @waiting
    def pause(name: str) -> Response[bytes]:
        worker.set_target_state(name, State.PAUSED)
        return _accepted()

    @put("/connectors/{name:str}/resume")
    @waiting
    def resume(name: str) -> Response[bytes]:
        worker.set_target_state(name, State.RUNNING)
        return _accepted()

    @put("/connectors/{name:str}/stop", status_code=204)
    @waiting
    def stop(name: str) -> None:
        worker.set_target_state(name, State.STOPPED)

    @post("/connectors/{name:str}/restart")
    @waiting
    def restart(
        name: str,
        tasks: Annotated[bool, QueryParameter(name="includeTasks")] = False,
        only_failed: Annotated[bool, QueryParameter(name="onlyFailed")] = False,
    ) -> Response[Any]:
        worker.restart(name, tasks=tasks, only_failed=only_failed)
        if tasks or only_failed:
            return Response(status(name), status_code=202)
        return Response(None, status_code=204)

    @get("/connector-plugins", sync_to_thread=False)
    def plugins() -> Any:
        return [
            {"class": name, "type": _TYPES.get(kind, "sink"), "version": __version__}
            for name, kind in CLASSES.items()
            if "." in name or kind is Kind.JOB
        ]

    @get("/connector-plugins/{plugin:str}/config")
    @threaded
    def plugin_config(plugin: str) -> Any:
        kind = _kind(plugin)
        return [definition(kind, key) for key in SCHEMAS[kind]]

    @put("/connector-plugins/{plugin:str}/config/validate")
    @threaded
    def validate(plugin: str, data: dict[str, Any]) -> Any:
        return validated(plugin, _kind(plugin), data)

    @get("/health", sync_to_thread=False)
    def health() -> dict[str, str]:
        return {"status": "healthy", "message": "The worker is ready to handle requests."}

    @get("/admin/loggers")
    @threaded
    def all_loggers() -> Any:
        return loggers.listed()

    @get("/admin/loggers/{logger:str}")
    @threaded
    def one_logger(logger: str) -> Any:
        return loggers.shown(logger)

    @put("/admin/loggers/{logger:str}")
    @threaded
    def set_logger(logger: str, data: dict[str, str]) -> Any:
        return loggers.change(logger, data.get("level", ""))

    return [
        *(root, health, all_loggers, one_logger, set_logger),
        *(connectors, create, connector, remove, config, configure, change, status_of),
        *(tasks, task_status, restart_task, topics, reset_topics, logs, offsets, forget, move),
        *(pause, resume, stop, restart, plugins, plugin_config, validate),
    ]


def _accepted() -> Response[bytes]:
    """An answer without a body: clients that find one try to read it."""
    return Response(b"", status_code=202, media_type=MediaType.TEXT)


@contextmanager
def _bad_request() -> Iterator[None]:
    """Answer 400 where Kafka Connect does: a connector whose offsets may not be changed now."""
    try:
        yield
    except ConnectorConflict as conflict:
        raise HTTPException(status_code=400, detail=conflict.message) from conflict


def _kind(plugin: str) -> Kind:
    if plugin not in CLASSES:
        raise UnknownConnector(f"plugin {plugin}")
    return CLASSES[plugin]


def _type(config: dict[str, str]) -> str:
    return _TYPES.get(CLASSES[config["connector.class"]], "sink")


def _state(state: State, trace: str, address: str) -> dict[str, Any]:
    """A state in Kafka Connect's words; `phase` has our own, where there is no such word."""
    body = {"state": state.in_connect, "worker_id": address, "version": __version__}
    if state.in_connect != state.value:
        body["phase"] = state.value
    return {**body, "trace": trace} if trace else body


def _explained(_request: Request[Any, Any, Any], error: HeadwaterError) -> Response[Any]:
    code = _STATUS.get(type(error), 500)
    return Response({"error_code": code, "message": mask_text(error.message)}, status_code=code)


def _refused(_request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    body = {"error_code": error.status_code, "message": mask_text(error.detail)}
    return Response(body, status_code=error.status_code)


def _too_deep(request: Request[Any, Any, Any], error: RecursionError) -> Response[Any]:
    if request.method == "GET":
        return _failed(request, error)
    body = {"error_code": 400, "message": "the body is nested too deeply"}
    return Response(body, status_code=400)


def _failed(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Answer that the fault is the worker's, and log it."""
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    message = f"{type(error).__name__}; see the log of the worker"
    return Response({"error_code": 500, "message": message}, status_code=500)
