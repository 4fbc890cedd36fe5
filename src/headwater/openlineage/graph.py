"""Lineage as a graph: what flows into what, how far a walk reaches, and the tree it makes.

Everything works on node ids and nothing here does I/O. Edges go with the data, from an
origin to a destination; a walk goes with them (downstream) or against them (upstream).
"""

from collections import deque
from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct

Counts = Callable[[str], bool]


class Way(StrEnum):
    """Which way a walk goes: toward the origin, or away from it."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


class Flow:
    """A directed graph of node ids."""

    def __init__(self, edges: Iterable[tuple[str, str]]) -> None:
        self._next: dict[Way, dict[str, set[str]]] = {way: {} for way in Way}
        for origin, destination in edges:
            self._next[Way.DOWNSTREAM].setdefault(origin, set()).add(destination)
            self._next[Way.UPSTREAM].setdefault(destination, set()).add(origin)

    def beside(self, node: str, way: Way) -> list[str]:
        """The nodes one edge further, in the order of their ids."""
        return sorted(self._next[way].get(node, ()))


class Branch(Struct):
    """A node of a tree, with what follows it.

    `seen` says that the node's branches are shown at an earlier place; `hidden` counts the
    nodes that follow it beyond the depth of the walk.
    """

    node: str
    children: list["Branch"]
    seen: bool = False
    hidden: int = 0


def count_all(_: str) -> bool:
    """Let every node count as a step."""
    return True


def reach(
    flow: Flow, start: str, way: Way, depth: int, counts: Counts = count_all
) -> dict[str, int]:
    """Every node within a depth, nearest first, with how many steps away it is.

    Only nodes that count make a step, so that depth may count jobs and pass datasets free.
    """
    steps = {start: 0}
    todo = deque([start])
    while todo:
        node = todo.popleft()
        for other in flow.beside(node, way):
            further = steps[node] + counts(other)
            if further > depth or further >= steps.get(other, depth + 1):
                continue
            steps[other] = further
            if further > steps[node]:
                todo.append(other)
            else:
                todo.appendleft(other)
    return dict(sorted(steps.items(), key=lambda item: (item[1], item[0] != start, item[0])))


def tree(flow: Flow, start: str, way: Way, depth: int, counts: Counts = count_all) -> Branch:
    """The nodes within a depth as a tree; a node that several lead to is unfolded once.

    What is within reach is settled before anything is unfolded: a node that is met first on
    a long way round is not cut short because of it.
    """
    within = reach(flow, start, way, depth, counts)
    root = Branch(start, [])
    unfolded: set[str] = set()
    todo = [root]
    while todo:
        branch = todo.pop()
        following = flow.beside(branch.node, way)
        if branch.node in unfolded:
            branch.seen = bool(following)
            continue
        unfolded.add(branch.node)
        branch.children = [Branch(node, []) for node in following if node in within]
        branch.hidden = len(following) - len(branch.children)
        todo.extend(reversed(branch.children))
    return root
