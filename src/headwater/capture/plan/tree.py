"""The first step of plan reading: Catalyst's flat preorder JSON becomes a tree.

Spark writes a tree as a list of its nodes in preorder, each with `num-children`. A field
of a node is a child's position, a tree of its own (an expression, a subquery's plan), or
plain data. Nothing here knows what any node means.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

R = TypeVar("R")

_STRUCTURE = frozenset({"class", "num-children"})


class Node:
    """One plan node or expression: its simple class name, its children and its fields."""

    __slots__ = ("children", "package", "raw", "type_name")

    def __init__(self, raw: dict[str, Any], children: tuple["Node", ...]) -> None:
        full = str(raw["class"])
        self.package, _, simple = full.rpartition(".")
        # Scala objects end in `$`; packages moved between 3.5 and 4.1, simple names did not.
        self.type_name = simple.rstrip("$").rpartition("$")[2] or simple
        self.raw = raw
        self.children = children

    def __repr__(self) -> str:
        return f"{self.type_name}({', '.join(map(repr, self.children))})"

    def get(self, field: str) -> Any:
        """A field as plain JSON, or None."""
        return self.raw.get(field)

    def tree(self, field: str) -> "Node | None":
        """The one tree in a field, whether written out or as a child's position."""
        value: Any = self.raw.get(field)
        if _is_position(value):
            child: Node = self.children[value]
            return child
        return parse(value) if _is_tree(value) else None

    def trees(self, field: str) -> tuple["Node", ...]:
        """Every tree in a field that holds a list of them."""
        value: Any = self.raw.get(field)
        if not isinstance(value, list):
            one = self.tree(field)
            return () if one is None else (one,)
        if _is_tree(value):
            return (parse(value),)
        return tuple(
            self.children[item] if _is_position(item) else parse(item)
            for item in value
            if _is_position(item) or _is_tree(item)
        )

    def expressions(self) -> Iterator["Node"]:
        """Every tree written out inside this node's fields, however deeply nested."""
        for field, value in self.raw.items():
            if field not in _STRUCTURE:
                yield from _trees_in(value)


def parse(nodes: str | Sequence[dict[str, Any]]) -> Node:
    """The tree written as `nodes`; without recursion, for plans may be thousands deep."""
    flat = json.loads(nodes) if isinstance(nodes, str) else nodes
    pending: list[Node] = []
    for raw in reversed(flat):
        count = raw["num-children"]
        children = tuple(pending.pop() for _ in range(count))
        pending.append(Node(raw, children))
    return pending.pop()


def fold(
    root: Node,
    visit: Callable[[Node, tuple[R, ...]], R],
    descend: Callable[[Node], Sequence[Node]] = lambda node: node.children,
) -> R:
    """Combine a tree bottom-up: `visit` gets each node with its children's results."""
    results: list[R] = []
    stack: list[tuple[Node, int]] = [(root, -1)]
    while stack:
        node, arity = stack.pop()
        if arity < 0:
            children = descend(node)
            stack.append((node, len(children)))
            stack.extend((child, -1) for child in reversed(children))
            continue
        split = len(results) - arity
        inputs = tuple(results[split:])
        del results[split:]
        results.append(visit(node, inputs))
    return results[0]


def walk(root: Node) -> Iterator[Node]:
    """Every node below and including `root`, in preorder, fields not entered."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _is_position(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_tree(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], dict)
        and "num-children" in value[0]
    )


def _trees_in(value: Any) -> Iterator[Node]:
    if _is_tree(value):
        yield parse(value)
    elif isinstance(value, list):
        for item in value:
            yield from _trees_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _trees_in(item)
