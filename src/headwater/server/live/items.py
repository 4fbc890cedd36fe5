"""Entries of the feed as clients of the live stream are sent them, and which ones they want."""

from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from headwater.http.keys import Key
from headwater.openlineage.names import JobName, NodeId, NodeKind
from headwater.openlineage.times import format_moment, parse_moment
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.view import StoreView
from headwater.server.lineage.walk import Walk
from headwater.server.store.feed import GraphChange, Lost, Numbered, Progress, RunChange

TYPES = ("run", "progress", "graph")
_LOST = "lost"  # what all clients are told, whatever types they want
_encode = msgspec.json.Encoder().encode
_ITEM = 500  # bytes that an item takes beside its text and its nodes
_NODE = 100  # bytes that a node takes beside its name


class Item(NamedTuple):
    """An entry as clients are sent it, and what filters ask of it."""

    number: int
    type: str
    nodes: frozenset[str]
    text: bytes
    namespace: str | None = None  # of the job whose run it is about

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return _ITEM + len(self.text) + sum(_NODE + len(node) for node in self.nodes)


class Filter(NamedTuple):
    """What a client wants: some types of entries, about some nodes (or all)."""

    types: frozenset[str]
    nodes: frozenset[str] | None
    key: Key | None = None

    def wants(self, item: Item) -> bool:
        """Whether an entry is for this client."""
        if item.type == _LOST:
            return True
        return item.type in self.types and (
            self.nodes is None or not self.nodes.isdisjoint(item.nodes)
        )

    def shown(self, item: Item) -> bytes:
        """An entry as this client may see it; empty if it may not."""
        if self.key is None or not self.key.is_limited or item.type == _LOST:
            return item.text
        if item.namespace is not None:
            return item.text if self.key.covers(item.namespace) else b""
        own = sorted(node for node in item.nodes if _is_own(self.key, node))
        if not own:
            return b""
        if len(own) == len(item.nodes):
            return item.text
        head, _, data = item.text.partition(b"data: ")
        return b"%sdata: %s\n\n" % (head, _encode({**msgspec.json.decode(data), "nodeIds": own}))


def _is_own(key: Key, node: str) -> bool:
    """Whether a node is of a key's namespaces, wherever its namespace ends."""
    rest = node.partition(":")[2]
    return any(rest.startswith(prefix) and ":" in rest[len(prefix) :] for prefix in key.namespaces)


def nodes_about(view: StoreView, text: str) -> frozenset[str] | None:
    """The nodes that a filter by one means: of a dataset its jobs too; None if there is none."""
    node = NodeId.parse(text)
    if node is None:
        return None
    if node.kind is NodeKind.JOB:
        return frozenset([text]) if view.find_job(node) is not None else None
    column = view.find_field(node) if node.kind is NodeKind.FIELD else None
    root = column[0] if column else view.find_dataset(node)
    if root is None:
        return None
    names = job_names(view, Walk(view).jobs_of({root})).values()
    return frozenset([str(view.names.of([root])[root]), *(str(JobName(*name)) for name in names)])


def write(numbered: Numbered) -> Item:
    """An entry as it is sent."""
    number, entry = numbered
    if isinstance(entry, Lost):
        return Item(number, _LOST, frozenset(), lost(number))
    if isinstance(entry, RunChange):
        return _item(number, "run", [_node(entry)], _run(entry), entry.namespace)
    if isinstance(entry, Progress):
        return _item(number, "progress", [_node(entry)], _progress(entry), entry.namespace)
    return _item(number, "graph", entry.nodes, _graph(entry))


def lost(number: int) -> bytes:
    """What a client is told that cannot be told all entries up to a number."""
    return b"id: %d\nevent: lost\ndata: {}\n\n" % number


def _item(
    number: int, kind: str, nodes: list[str], data: dict[str, Any], namespace: str | None = None
) -> Item:
    text = b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), _encode(data))
    return Item(number, kind, frozenset(nodes), text, namespace)


def _node(entry: RunChange | Progress) -> str:
    return str(JobName(entry.namespace, entry.name))


def _about(entry: RunChange | Progress) -> dict[str, Any]:
    return {
        "runId": str(UUID(bytes=entry.run)),
        "job": {"namespace": entry.namespace, "name": entry.name},
        "nodeId": _node(entry),
        "at": format_moment(entry.at),
    }


def _run(entry: RunChange) -> dict[str, Any]:
    return {**_about(entry), "state": entry.state, "error": entry.error, **_omitted(entry, "error")}


def _progress(entry: Progress) -> dict[str, Any]:
    return {
        **_about(entry),
        "rows": entry.rows,
        "rowsPerSecond": entry.rate,
        "lagRows": entry.lag,
        "lagSeconds": _seconds_behind(entry),
        "watermark": entry.watermark,
        **_omitted(entry, "watermark"),
    }


def _seconds_behind(entry: Progress) -> float | None:
    """How far the watermark is behind the time at which the run told it."""
    try:
        mark = parse_moment(entry.watermark) if entry.watermark else 0
    except (ValueError, OverflowError):
        return None
    return max(0.0, (entry.at - mark) / 1e6) if mark > 0 else None


def _graph(entry: GraphChange) -> dict[str, Any]:
    told = {"at": format_moment(entry.at), "kinds": entry.kinds, "nodeIds": entry.nodes}
    return {**told, **_omitted(entry, "nodeIds")}


def _omitted(entry: RunChange | Progress | GraphChange, name: str) -> dict[str, list[str]]:
    """What of an entry is not told, or not all of it, because it is too long."""
    return {"omitted": [name]} if entry.is_cut else {}
