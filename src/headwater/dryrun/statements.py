"""Tells SQL that only reads from SQL that changes something, and what that would write.

A statement runs if it is a query, or if it changes nothing outside the session. Whatever else there
is, known here or not, does not run.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from headwater.dryrun.writers import Planned, by_position

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_CHANGING = ("Command", "ParsedStatement", "InsertIntoDir")
_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(select|with|values|table|from|map|reduce)\b",
    re.IGNORECASE | re.DOTALL,
)
# Commands that change nothing outside the session.
_HARMLESS = frozenset({
    "CreateTempViewUsing", "SetCommand", "ResetCommand", "SetCatalogAndNamespace",
    "SetCatalogCommand", "SetNamespaceCommand", "CacheTable", "CacheTableAsSelect", "UncacheTable",
    "AddJarsCommand", "CreateVariable", "SetVariable", "CreateViewCommand", "CreateFunctionCommand",
})  # fmt: skip
_SHOWN = ("Show", "Describe", "Explain")
_CREATING = ("CreateTableAsSelect", "ReplaceTableAsSelect")


class Statement(NamedTuple):
    """A statement: what it would write, and whether it may run."""

    writes: list[Planned]
    may_run: bool


def read_statement(session: SparkSession, text: str) -> Statement:
    """Parse a statement.

    Raises: what Spark does, where it cannot be parsed.
    """
    plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    kind = _kind(plan)
    if kind in _HARMLESS or kind.startswith(_SHOWN):
        return Statement([], True)
    find = session._jvm.java.lang.Class.forName  # type: ignore[union-attr]
    kinds = [find(f"{_LOGICAL}.{name}") for name in _CHANGING]
    changing = [node for node in _nodes(plan) if any(kind.isInstance(node) for kind in kinds)]
    if not changing:
        return Statement([], _QUERY.match(text) is not None)
    written = (_planned(session, plan, node) for node in changing)
    return Statement([planned for planned in written if planned is not None], False)


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for n in range(children.size()):
        yield from _nodes(children.apply(n))


def _planned(session: SparkSession, plan: Any, node: Any) -> Planned | None:
    """What a part of a statement would write; None where that is no query's rows."""
    kind = _kind(node)
    if kind in ("InsertIntoStatement", "OverwriteByExpression", "OverwritePartitionsDynamic"):
        target = _name(node.table().multipartIdentifier())
    elif kind in _CREATING:
        target = _name(node.name().nameParts())
    elif kind == "InsertIntoDir":
        place = node.storage().locationUri()
        target = str(place.get()) if place.isDefined() else ""
    else:
        return None
    query = node.query() if kind != "InsertIntoDir" else node.child()
    frame = _frame(session, _with_ctes(session, plan, query))
    if kind == "InsertIntoStatement" and not node.byName():
        chosen = node.userSpecifiedCols()
        columns = [str(chosen.apply(n)) for n in range(chosen.size())]
        frame = by_position(frame, target, columns)
    return Planned(target, frame)


def _with_ctes(session: SparkSession, plan: Any, query: Any) -> Any:
    """A query with the tables that the statement around it names."""
    if _kind(plan) != "UnresolvedWith":
        return query
    return plan.withNewChildren(session._jvm.PythonUtils.toSeq([query]))  # type: ignore[union-attr]


def _name(parts: Any) -> str:
    return ".".join(f"`{parts.apply(n)}`" for n in range(parts.size()))


def _frame(session: SparkSession, plan: Any) -> DataFrame:
    datasets = session._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return DataFrame(datasets.ofRows(session._jsparkSession, plan), session)
