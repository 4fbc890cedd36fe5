"""Asks a lineage server over HTTP, for the commands."""

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Raw, Struct

from headwater.api.base import Name
from headwater.api.catalog import Failure
from headwater.api.graph import ColumnNode, DatasetNode, JobNode
from headwater.api.jobs import Job, JobPage
from headwater.api.runs import ListedRun, ListedRunPage, Run, RunPage
from headwater.api.search import Meant, Resolution
from headwater.errors import RequestRefused, ServerUnreachable, UsageError
from headwater.openlineage.names import NodeId
from headwater.openlineage.tolerant_json import decode_as

T = TypeVar("T")
P = TypeVar("P")
GraphNode = DatasetNode | JobNode

_PAGE = 100
# Names of this machine are asked directly, whatever proxy the environment names.
_HERE: dict[str, httpx.BaseTransport | None] = {"all://127.0.0.1": None, "all://localhost": None}


class _RawGraph(Struct):
    graph: list[Raw]


class _RawEvents(Struct):
    events: list[Raw]


class Client:
    """A lineage server at an address; a context manager, as it holds a connection."""

    def __init__(self, url: str, timeout: float = 60, *, key: str | None = "") -> None:
        """Connect with a key; "" is the key of the environment, and None is no key."""
        self.url = url.rstrip("/") if "://" in url else f"http://{url.rstrip('/')}"
        try:
            self._http = httpx.Client(
                base_url=f"{self.url}/api/v1/",
                timeout=timeout,
                mounts=_HERE,
                headers=_signed(key),
                # Reading the certificates takes longer than most answers.
                verify=not self.url.startswith("http://"),
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise UsageError(
                f"{url!r} is not an address: {error}", hint="Write it as http://host:port"
            ) from None

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def lineage(
        self, node: str, depth: int, at: str | None = None
    ) -> dict[str, tuple[GraphNode, Raw]]:
        """The graph around a dataset or a job, by node id, each node also as it came."""
        answer = self._get(
            "lineage", _RawGraph, nodeId=node, depth=depth, detail="true", **_as_of(at)
        )
        return _nodes(answer, GraphNode)

    def columns(
        self, node: str, depth: int, at: str | None = None
    ) -> dict[str, tuple[ColumnNode, Raw]]:
        """The columns around those of a node, both ways, with what happens to them."""
        answer = self._get(
            "column-lineage", _RawGraph, nodeId=node, depth=depth, withDownstream="true",
            detail="true", **_as_of(at),
        )  # fmt: skip
        return _nodes(answer, ColumnNode)

    def ask(self, path: str, **params: Any) -> dict[str, Any]:
        """An answer as it came."""
        return self._get(path, dict[str, Any], **params)

    def ask_list(self, path: str, **params: Any) -> list[Any]:
        """An answer that is a list, as it came."""
        return self._get(path, list[Any], **params)

    def text(self, path: str, **params: Any) -> str:
        """An answer that is not JSON."""
        return self._answer(path, params).text

    def stream(
        self, last: str | None, **params: str
    ) -> Iterator[tuple[str | None, str | None, dict[str, Any]]]:
        """The live stream: number, kind and data of each event; all empty when it is open.

        Raises: ServerUnreachable, RequestRefused.
        """
        headers = {} if last is None else {"Last-Event-ID": last}
        quiet = httpx.Timeout(60)
        try:
            with self._http.stream(
                "GET", "stream", params=params, headers=headers, timeout=quiet
            ) as response:
                if not response.is_success:
                    response.read()
                    raise RequestRefused(self.url, response.status_code, _reason(response))
                yield from _events(response.iter_lines())
        except httpx.TransportError as error:
            raise ServerUnreachable(self.url, str(error) or type(error).__name__) from None

    def resolve(self, name: str, types: str | None = None) -> Resolution:
        """What a name means, among jobs, datasets and columns or only some of these types."""
        given = {} if types is None else {"types": types}
        return self._get("resolve", Resolution, name=name, **given)

    def find(self, node: NodeId) -> Meant | None:
        """The node of a node id, by the name under which it is shown."""
        text = f"{node.kind}:{node.whole.rest}"
        return self._get("resolve", Resolution, name=text, exact="true").node

    def jobs(self, states: list[str]) -> Iterator[Job]:
        """Every job with its last runs, latest first, page by page."""
        return self._pages("jobs", JobPage, lambda page: page.jobs, lastRunStates=states)

    def children(self, job: Name) -> Iterator[Job]:
        """The jobs that a job starts, by name, page by page."""
        return self._pages(f"{_path(job)}/children", JobPage, lambda page: page.jobs)

    def runs(self, job: Name) -> Iterator[Run]:
        """The runs of a job, latest first, page by page."""
        return self._pages(f"{_path(job)}/runs", RunPage, lambda page: page.runs)

    def all_runs(self, states: list[str]) -> Iterator[ListedRun]:
        """The runs of all jobs in these states, latest first, page by page."""
        return self._pages("runs", ListedRunPage, lambda page: page.runs, state=states)

    def events(self, limit: int, **which: str | None) -> list[Raw]:
        """Raw events of every kind, latest first."""
        given = {name: value for name, value in which.items() if value is not None}
        return self._get("events/lineage", _RawEvents, limit=limit, kind="all", **given).events

    def event_page(self, **params: Any) -> list[Raw]:
        """A page of raw events, as the server orders them."""
        return self._get("events/lineage", _RawEvents, **params).events

    def send_lines(self, lines: bytes) -> dict[str, Any]:
        """Send events, one a line; how many were received and stored.

        Raises: ServerUnreachable, RequestRefused.
        """
        headers = {"content-type": "application/x-ndjson"}
        try:
            response = self._http.post("lineage/batch", content=lines, headers=headers)
        except httpx.TransportError as error:
            raise ServerUnreachable(self.url, str(error) or type(error).__name__) from None
        if not response.is_success:
            raise RequestRefused(self.url, response.status_code, _reason(response))
        told: dict[str, Any] = msgspec.json.decode(response.content)
        return told

    def _pages(
        self, path: str, wanted: type[P], items: Callable[[P], list[T]], **params: Any
    ) -> Iterator[T]:
        offset = 0
        while True:
            page = items(self._get(path, wanted, limit=_PAGE, offset=offset, **params))
            yield from page
            if len(page) < _PAGE:
                return
            offset += _PAGE

    def _get(self, path: str, wanted: type[T], **params: Any) -> T:
        """Ask, and read the answer.

        Raises: ServerUnreachable, RequestRefused.
        """
        response = self._answer(path, params)
        try:
            return decode_as(response.content, wanted)
        except ValueError as error:
            reason = f"this is not an answer of a lineage server: {error}"
            raise RequestRefused(self.url, response.status_code, reason) from None

    def _answer(self, path: str, params: dict[str, Any]) -> httpx.Response:
        try:
            response = self._http.get(path, params=params)
        except httpx.TransportError as error:
            raise ServerUnreachable(self.url, str(error) or type(error).__name__) from None
        if not response.is_success:
            raise RequestRefused(self.url, response.status_code, _reason(response))
        return response


def _signed(key: str | None) -> dict[str, str]:
    """The header that carries a key, as a server that asks for one wants it."""
    if key == "":
        key = os.environ.get("HEADWATER_KEY") or os.environ.get("OPENLINEAGE_API_KEY")
    return {"authorization": f"Bearer {key}"} if key else {}


def _as_of(at: str | None) -> dict[str, str]:
    return {} if at is None else {"asOf": at}


def _events(
    lines: Iterator[str],
) -> Iterator[tuple[str | None, str | None, dict[str, Any]]]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "event" in fields:
            yield (
                fields.get("id"),
                fields["event"],
                decode_as(fields.get("data", "{}").encode(), dict),
            )
            fields = {}
        else:
            yield None, None, {}
            fields = {}


def _nodes(answer: _RawGraph, wanted: Any) -> dict[str, tuple[Any, Raw]]:
    decoded = ((decode_as(raw, wanted), raw) for raw in answer.graph)
    return {node.id: (node, raw) for node, raw in decoded}


def _path(job: Name) -> str:
    return f"namespaces/{quote(job.namespace, safe='')}/jobs/{quote(job.name, safe='')}"


def _reason(response: httpx.Response) -> str:
    try:
        told = msgspec.json.decode(response.content, type=Failure)
    except msgspec.DecodeError:
        return response.reason_phrase or "no reason was given"
    return told.message or "; ".join(told.errors) or response.reason_phrase
