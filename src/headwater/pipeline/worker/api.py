"""Kafka Connect's REST API over a worker."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio.to_thread
from litestar import Litestar, Request, Response, delete, get, patch, post, put
from litestar.exceptions import HTTPException
from litestar.params import Parameter
from msgspec import Struct

from headwater.errors import (
    BadConfig,
    ConnectorConflict,
    HeadwaterError,
    SecretMissing,
    UnknownConnector,
)
from headwater.openlineage.masking import mask_text
from headwater.pipeline.config import CLASSES, Kind, check
from headwater.pipeline.states import State
from headwater.pipeline.worker.host import Worker
from headwater.version import __version__

_STATUS = {BadConfig: 400, SecretMissing: 400, UnknownConnector: 404, ConnectorConflict: 409}
_TYPES = {Kind.GENERATOR: "source", Kind.JOB: "source"}


class Deployment(Struct):
    """The body that creates a connector."""

    name: str
    config: dict[str, Any]
    initial_state: State = State.RUNNING


def make_app(worker: Worker, address: str) -> Litestar:
    """The API as an ASGI application."""
    return Litestar(
        _routes(worker, address),
        exception_handlers={HeadwaterError: _told, HTTPException: _refused},
        openapi_config=None,
    )


def _threaded(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Run a handler in a thread: it may wait for Spark.

    Litestar's own `sync_to_thread` breaks where three handlers share a path.
    """

    @functools.wraps(handler)
    async def run(**arguments: Any) -> Any:
        return await anyio.to_thread.run_sync(functools.partial(handler, **arguments))

    return run


def _routes(worker: Worker, address: str) -> list[Any]:
    def info(name: str) -> dict[str, Any]:
        definition = worker.definition(name)
        tasks = [{"connector": name, "task": n} for n in range(len(worker.tasks(name)))]
        config = definition.shown()
        return {"name": name, "config": config, "tasks": tasks, "type": _type(config)}

    def status(name: str) -> dict[str, Any]:
        state, trace = worker.state(name)
        tasks = [
            _with_trace({"id": number, "state": one, "worker_id": address}, why)
            for number, (one, why) in enumerate(worker.tasks(name))
        ]
        connector = _with_trace({"state": state, "worker_id": address}, trace)
        kind = _type(worker.definition(name).config)
        return {"name": name, "connector": connector, "tasks": tasks, "type": kind}

    @get("/", sync_to_thread=False)
    def root() -> dict[str, str]:
        return {"version": __version__, "commit": "headwater", "kafka_cluster_id": "headwater"}

    @get("/connectors")
    @_threaded
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
    @_threaded
    def create(data: Deployment) -> Response[Any]:
        worker.create(data.name, data.config, data.initial_state)
        return Response(info(data.name), status_code=201)

    @get("/connectors/{name:str}")
    @_threaded
    def connector(name: str) -> Any:
        return info(name)

    @delete("/connectors/{name:str}")
    @_threaded
    def remove(name: str) -> None:
        worker.delete(name)

    @get("/connectors/{name:str}/config")
    @_threaded
    def config(name: str) -> Any:
        return worker.definition(name).shown()

    @put("/connectors/{name:str}/config")
    @_threaded
    def configure(name: str, data: dict[str, Any]) -> Response[Any]:
        _, new = worker.configure(name, data)
        return Response(info(name), status_code=201 if new else 200)

    @patch("/connectors/{name:str}/config")
    @_threaded
    def change(name: str, data: dict[str, Any]) -> Any:
        worker.patch(name, data)
        return info(name)

    @get("/connectors/{name:str}/status")
    @_threaded
    def status_of(name: str) -> Any:
        return status(name)

    @get("/connectors/{name:str}/tasks")
    @_threaded
    def tasks(name: str) -> Any:
        return [
            {"id": one, "config": worker.definition(name).shown()} for one in info(name)["tasks"]
        ]

    @get("/connectors/{name:str}/tasks/{number:int}/status")
    @_threaded
    def task_status(name: str, number: int) -> Any:
        found = status(name)["tasks"]
        if number >= len(found):
            raise UnknownConnector(f"{name}, task {number},")
        return found[number]

    @post("/connectors/{name:str}/tasks/{number:int}/restart", status_code=204)
    @_threaded
    def restart_task(name: str, number: int) -> None:
        worker.restart_task(name, number)

    @get("/connectors/{name:str}/topics")
    @_threaded
    def topics(name: str) -> Any:
        return {name: {"topics": worker.topics(name)}}

    @put("/connectors/{name:str}/topics/reset")
    @_threaded
    def reset_topics(name: str) -> None:
        worker.definition(name)  # ours are those of the configuration: there is none to forget

    @get("/connectors/{name:str}/logs")
    @_threaded
    def logs(name: str, lines: int = 100) -> Any:
        return {"lines": worker.logs(name, lines)}

    @get("/connectors/{name:str}/offsets")
    @_threaded
    def offsets(name: str) -> Any:
        return {"offsets": worker.offsets(name)}

    @delete("/connectors/{name:str}/offsets", status_code=200)
    @_threaded
    def forget(name: str) -> Any:
        with _bad_request():
            worker.forget_offsets(name)
        return {"message": "The offsets for this connector have been reset successfully"}

    @patch("/connectors/{name:str}/offsets")
    @_threaded
    def move(name: str, data: dict[str, list[dict[str, Any]]]) -> Any:
        with _bad_request():
            worker.move_offsets(name, data.get("offsets", []))
        return {"message": "The offsets for this connector have been altered successfully"}

    @put("/connectors/{name:str}/pause", status_code=202)
    @_threaded
    def pause(name: str) -> None:
        worker.turn(name, State.PAUSED)

    @put("/connectors/{name:str}/resume", status_code=202)
    @_threaded
    def resume(name: str) -> None:
        worker.turn(name, State.RUNNING)

    @put("/connectors/{name:str}/stop", status_code=204)
    @_threaded
    def stop(name: str) -> None:
        worker.turn(name, State.STOPPED)

    @post("/connectors/{name:str}/restart")
    @_threaded
    def restart(
        name: str,
        tasks: bool = Parameter(query="includeTasks", default=False),
        only_failed: bool = Parameter(query="onlyFailed", default=False),
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

    @put("/connector-plugins/{plugin:str}/config/validate")
    @_threaded
    def validate(plugin: str, data: dict[str, Any]) -> Any:
        values = {"connector.class": plugin, **{key: str(value) for key, value in data.items()}}
        faults = check(values)
        keys = {**values, **faults}
        configs = [_validated(key, values.get(key), faults.get(key)) for key in keys]
        return {
            "name": plugin,
            "error_count": len(faults),
            "groups": ["Common"],
            "configs": configs,
        }

    return [
        *(root, connectors, create, connector, remove, config, configure, change, status_of),
        *(tasks, task_status, restart_task, topics, reset_topics, logs, offsets, forget, move),
        *(pause, resume, stop, restart, plugins, validate),
    ]


@contextmanager
def _bad_request() -> Iterator[None]:
    """Answer 400 where Kafka Connect does: a connector whose offsets may not be changed now."""
    try:
        yield
    except ConnectorConflict as conflict:
        raise HTTPException(status_code=400, detail=conflict.message) from conflict


def _type(config: dict[str, str]) -> str:
    return _TYPES.get(CLASSES[config["connector.class"]], "sink")


def _with_trace(body: dict[str, Any], trace: str) -> dict[str, Any]:
    return {**body, "trace": trace} if trace else body


def _validated(key: str, value: str | None, fault: str | None) -> dict[str, Any]:
    definition = {"name": key, "type": "STRING", "required": False, "group": "Common"}
    errors = [f"{key} {fault}"] if fault else []
    told = {"name": key, "value": value, "errors": errors, "visible": True}
    return {"definition": definition, "value": {**told, "recommended_values": []}}


def _told(_request: Request[Any, Any, Any], error: HeadwaterError) -> Response[Any]:
    code = _STATUS.get(type(error), 500)
    return Response({"error_code": code, "message": mask_text(error.message)}, status_code=code)


def _refused(_request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    body = {"error_code": error.status_code, "message": mask_text(error.detail)}
    return Response(body, status_code=error.status_code)
