"""Conditions whose branches are all the same: such a value does not depend on the condition.

Spark writes an UPDATE as `if(condition, value, column)` for every column of the table, also for
those that stay as they are.
"""

from itertools import zip_longest
from typing import Any

from headwater.capture.plan.tree import Node, walk

# What a reference may be called, which does not change what it refers to.
_LABELS = frozenset({"qualifier", "metadata"})


def only_branch(node: Node) -> int | None:
    """The position of a condition's value, if all of its branches are that value."""
    if node.type_name == "If":
        places = [1, 2]
    elif node.type_name == "CaseWhen" and len(node.children) % 2:
        places = [*range(1, len(node.children), 2), len(node.children) - 1]
    else:
        return None
    first, *others = (node.children[place] for place in places)
    return places[0] if all(_alike(first, other) for other in others) else None


def _alike(first: Node, second: Node) -> bool:
    pairs = zip_longest(walk(first), walk(second))
    return all(a is not None and b is not None and _content(a) == _content(b) for a, b in pairs)


def _content(node: Node) -> Any:
    """What a node says; itself, and like no other, if JSON leaves something out."""
    content = {name: value for name, value in node.raw.items() if name not in _LABELS}
    return node if None in content.values() else content
