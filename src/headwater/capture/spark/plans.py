"""The JSON of plans, in bounded memory and with the projections that Spark leaves out of it.

Spark writes a list only if it is a List of Scala: those of `df.unpivot` are arrays.
"""

import json
import logging
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from headwater.capture.jvm.classes import load_class
from headwater.capture.spark.jvm import Java, call, class_name, scala_object_of, seq
from headwater.errors import PlanTooLarge

log = logging.getLogger("headwater.capture")

_EXPAND, _LEFT_OUT = "org.apache.spark.sql.catalyst.plans.logical.Expand", '"projections":null'
_ARRAY = "org.apache.spark.sql.catalyst.expressions.CreateArray"

Tree = list[dict[str, Any]]


class PlanWriter:
    """Writes the plans of one JVM as JSON, as Spark does, and whole."""

    def __init__(self, jvm: Java, cache: Path) -> None:
        self._jvm, self._cache = jvm, cache  # of classes that were compiled

    def json(self, plan: Java) -> str:
        """A plan; what is wide in it is written once.

        Raises: PlanTooLarge.
        """
        text = plan.toJSON() if self._plans is None else self._plans.json(plan)
        if text is None:
            raise PlanTooLarge
        return text if _LEFT_OUT not in text else json.dumps(_whole(json.loads(text), plan))

    @cached_property
    def _plans(self) -> Java | None:
        """The class that knows what a plan takes; without it, all plans are taken for small."""
        try:
            return load_class(self._jvm, "Plans", self._cache)
        except (Py4JError, OSError) as error:
            log.info("headwater: the size of plans is not known: %s", error)
            return None


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
