"""Entries of the feed as clients of the live stream are sent them, and which ones they want."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from headwater.http.keys import Key
from headwater.openlineage.names import JobName, NodeId, NodeKind
from headwater.openlineage.times import format_moment, parse_moment
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.view import StoreView
from headwater.server.lineage.walk import Walk
from headwater.server.store.feed import Lost, Numbered, Progress, RunChange
from headwater.server.store.graph_change import GraphChange, Part, together

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
    parts: list[Part] | None = None  # of a change of the graph, where its row tells them
    is_short: bool = False  # whether the graph changed around nodes that it does not tell
    is_rest: bool = False  # whether an item before it tells of the whole commit

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        parts = sum(_ITEM + len(part.namespace) for part in self.parts or ())
        return _ITEM + len(self.text) + sum(_NODE + len(node) for node in self.nodes) + parts


class Filter(NamedTuple):
    """What a client wants: some types of entries, about some nodes (or all)."""

    types: frozenset[str]
    nodes: frozenset[str] | None
    key: Key | None = None

    def shown(self, item: Item) -> bytes:
        """What this client is sent of an entry; empty if it does not want it or may not see it."""
        if item.type == _LOST:
            return item.text
        if item.type not in self.types:
            return b""
        if self.key is not None and self.key.is_limited:
            return self._own(item, self.key)
        if self.nodes is None:
            return b"" if item.is_rest else item.text
        return item.text if is_about(item, self.nodes) else b""

    def _own(self, item: Item, key: Key) -> bytes:
        """What a key with namespaces is sent of an entry."""
        if item.parts is not None:
            return b"".join(self._by_namespace(item.number, item.parts, key))
        if self.nodes is not None and not is_about(item, self.nodes):
            return b""
        if item.namespace is not None:
            return item.text if key.covers(item.namespace) else b""
        own = [node for node in item.nodes if _is_own(key, node)]
        if len(own) == len(item.nodes) and not item.is_short:
            return item.text
        # Which of its kinds are of the key's nodes, and which nodes it leaves out, is not known.
        return lost(item.number) if own or item.is_short else b""

    def _by_namespace(self, number: int, parts: list[Part], key: Key) -> Iterator[bytes]:
        """A message for each namespace, whatever else the entry holds.

        Only the last one counts the entry as sent: a client that comes back gets all of them.
        """
        wanted = [
            [*some]
            for namespace, some in groupby(parts, attrgetter("namespace"))
            if key.covers(namespace)
        ]
        if self.nodes is not None:
            wanted = [some for some in wanted if parts_about(some, self.nodes)]
        for place, some in enumerate(wanted, 1):
            at, kinds, nodes = together(some)
            change = GraphChange(at, kinds, nodes, any(part.is_cut for part in some))
            yield _text(number - (place < len(wanted)), "graph", _graph(change))


def is_about(item: Item, nodes: frozenset[str]) -> bool:
    """Whether an entry is about one of some nodes, or may be."""
    if item.parts is not None:
        return bool(parts_about(item.parts, nodes))
    return bool(nodes) and (item.is_short or not nodes.isdisjoint(item.nodes))


def parts_about(parts: Iterable[Part], nodes: frozenset[str]) -> list[Part]:
    """The parts of a change that are about one of some nodes, or may be as they leave out some."""
    return [
        part
        for part in parts
        if not nodes.isdisjoint(part.nodes) or (part.is_cut and _may_leave_out(part, nodes))
    ]


def _may_leave_out(part: Part, nodes: frozenset[str]) -> bool:
    """Whether one of some nodes may be among those that a part leaves out: the last ones."""
    last = part.nodes[-1] if part.nodes else ""
    own = f"{part.namespace}:"
    return any(node > last and node.partition(":")[2].startswith(own) for node in nodes)


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
    return _graph_item(number, entry)


def lost(number: int) -> bytes:
    """What a client is told that cannot be told all entries up to a number."""
    return b"id: %d\nevent: lost\ndata: {}\n\n" % number


def _item(number: int, kind: str, nodes: list[str], data: dict[str, Any], namespace: str) -> Item:
    return Item(number, kind, frozenset(nodes), _text(number, kind, data), namespace)


def _graph_item(number: int, entry: GraphChange) -> Item:
    parts, text = entry.parts, _text(number, "graph", _graph(entry))
    nodes = entry.nodes if parts is None else [node for part in parts for node in part.nodes]
    is_short = parts is None and entry.is_cut
    return Item(number, "graph", frozenset(nodes), text, None, parts, is_short, entry.is_rest)


def _text(number: int, kind: str, data: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), _encode(data))


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
