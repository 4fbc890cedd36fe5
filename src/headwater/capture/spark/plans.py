"""The JSON of plans, with the projections that Spark leaves out of it.

Spark writes a list only if it is a List of Scala: those of `df.unpivot` are arrays.
"""

import json
from collections.abc import Iterator
from typing import Any

from headwater.capture.spark.jvm import Java, call, class_name, scala_object_of, seq

_EXPAND, _LEFT_OUT = "org.apache.spark.sql.catalyst.plans.logical.Expand", '"projections":null'
_ARRAY = "org.apache.spark.sql.catalyst.expressions.CreateArray"

Tree = list[dict[str, Any]]


def plan_json(plan: Java) -> str:
    """A plan as Spark writes it in JSON, and whole."""
    text = str(plan.toJSON())
    return text if _LEFT_OUT not in text else json.dumps(_whole(json.loads(text), plan))


def _whole(written: Any, plan: Java) -> Any:
    projections = {_ids(node): node.projections() for node in _expands(plan)}
    for raw in _unwritten(written):
        found = projections.get(tuple(tree[0]["exprId"]["id"] for tree in raw["output"]))
        if found is not None:
            raw["projections"] = [_trees(projection) for projection in seq(found)]
    return written


def _ids(expand: Java) -> tuple[int, ...]:
    return tuple(int(attribute.exprId().id()) for attribute in seq(expand.output()))


def _expands(plan: Java) -> Iterator[Java]:
    pending = [plan]
    while pending:
        node = pending.pop()
        if class_name(node) == "Expand":
            yield node
        for name in ("children", "innerChildren"):
            inner = call(node, name)
            pending.extend(seq(inner) if inner is not None else ())


def _unwritten(written: Any) -> Iterator[dict[str, Any]]:
    """The nodes without projections, also of plans inside the fields of others."""
    pending = [written]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            if value.get("class") == _EXPAND and value.get("projections") is None:
                yield value
            pending.extend(value.values())


def _trees(projection: Java) -> list[Tree]:
    """Each expression of a projection: as the elements of an array, they are written at once."""
    loader = projection.apply(0).getClass().getClassLoader()
    flat = json.loads(str(scala_object_of(loader, _ARRAY).apply(projection).toJSON()))[1:]
    trees: list[Tree] = []
    missing = 0
    for raw in flat:
        if not missing:
            trees.append([])
            missing = 1
        trees[-1].append(raw)
        missing += raw["num-children"] - 1
    return trees
