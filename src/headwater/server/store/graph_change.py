"""How a commit changed the graph, by namespace: a key with namespaces is told of its own only.

A namespace is cut by itself and stays in one entry, so that what is told of it does not depend on
what else the commit changed. Where that takes more than one entry, the first one says of the whole
commit what it always did, for all who may see everything; the rest are for filters.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

MOST_NODES = 1000  # told of one commit; a load of a whole store changes everything
MOST_NAMES = 128 * 2**10  # characters of the nodes told of one commit
_MOST_APART = 2 * 2**20  # characters of the nodes that a commit tells by namespace


class Part(Struct, array_like=True, frozen=True):
    """Nodes of one namespace around which the graph changed in the same ways."""

    namespace: str
    at: int
    kinds: list[str]
    nodes: list[str]
    is_cut: bool = False  # whether there are more such nodes

    @property
    def size(self) -> int:
        """How many characters its names have."""
        return len(self.namespace) + sum(map(len, self.nodes))


class GraphChange(Struct, array_like=True, tag="g", frozen=True):
    """The graph changed around some nodes."""

    at: int
    kinds: list[str]
    nodes: list[str]
    is_cut: bool = False  # whether there are more nodes
    parts: list[Part] | None = None  # None in rows of earlier versions, or if there are too many
    is_rest: bool = False  # whether an entry before it is of the same commit


class Node(NamedTuple):
    """A node around which the graph changed."""

    namespace: str
    id: str
    at: int
    kinds: tuple[str, ...]


def told_apart(whole: GraphChange, nodes: Iterable[Node]) -> list[GraphChange]:
    """The entries of a commit: the whole, with what changed in each namespace, and the rest."""
    groups: list[list[Part]] = [[]]
    size = count = total = 0
    for _, some in groupby(sorted(nodes), lambda node: node.namespace):
        parts = [*_parts([*some])]
        more, names = sum(part.size for part in parts), sum(len(part.nodes) for part in parts)
        size, count, total = size + more, count + names, total + more
        if total > _MOST_APART:
            return [not_told_apart(whole)]
        if groups[-1] and (size > MOST_NAMES or count > MOST_NODES):
            groups.append([])
            size, count = more, names
        groups[-1] += parts
    first = GraphChange(whole.at, whole.kinds, whole.nodes, whole.is_cut, groups[0])
    return [first, *map(_rest, groups[1:])]


def not_told_apart(whole: GraphChange) -> GraphChange:
    """The entry of a commit that changed too much: a key with namespaces is told of a loss."""
    return GraphChange(whole.at, whole.kinds, whole.nodes, is_cut=True)


def _rest(parts: list[Part]) -> GraphChange:
    at, kinds, nodes = together(parts)
    return GraphChange(at, kinds, nodes, is_cut=True, parts=parts, is_rest=True)


def together(parts: Iterable[Part]) -> tuple[int, list[str], list[str]]:
    """When and how the graph changed last around the nodes of some parts, and the nodes."""
    parts = [*parts]
    kinds = {kind for part in parts for kind in part.kinds}
    nodes = {node for part in parts for node in part.nodes}
    return max(part.at for part in parts), sorted(kinds), sorted(nodes)


def _parts(nodes: list[Node]) -> Iterator[Part]:
    """The parts of one namespace, by the ways in which it changed around nodes."""
    told = {*fitting([node.id for node in nodes])}
    for kinds, some in groupby(sorted(nodes, key=_kinds), _kinds):
        alike = [*some]
        ids = [node.id for node in alike if node.id in told]
        at = max(node.at for node in alike)
        yield Part(alike[0].namespace, at, [*kinds], ids, len(ids) < len(alike))


def _kinds(node: Node) -> tuple[str, ...]:
    return node.kinds


def fitting(nodes: list[str]) -> list[str]:
    """The first nodes, as many as may be told."""
    left, count = MOST_NAMES, 0
    for node in nodes[:MOST_NODES]:
        left -= len(node)
        if left < 0:
            break
        count += 1
    return nodes[:count]
