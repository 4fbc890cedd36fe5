"""Tells SQL that only reads from SQL that changes something, and what that would write.

A statement runs if it is a query, or if it changes nothing outside the session. Whatever else there
is, known here or not, does not run.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.dryrun.conversions import converted_statement, frame_of
from headwater.dryrun.writers import Match, Planned

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
# They add no rows to a table.
_ROWLESS = ("Create", "Drop", "Alter", "Rename", "Truncate", "Refresh", "Analyze", "Repair",
            "Comment", "Set", "Unset", "Add", "DeleteFrom", "Replace", "Recover")  # fmt: skip
_LOOKING = frozenset({"SetVariable", "CreateVariable", "CacheTableAsSelect"})
_WORD = re.compile("[A-Z][a-z]*")
_NAMED = {"CompoundBody": "a script", "MergeIntoTable": "MERGE", "UpdateTable": "UPDATE"}
_SHOWN = ("Show", "Describe", "Explain")
_CREATING = ("CreateTableAsSelect", "ReplaceTableAsSelect")


class Statement(NamedTuple):
    """A statement: what it would write, and whether it may run."""

    writes: list[Planned]
    may_run: bool
    missed: str = ""  # what it is, if it may write rows that are not known
    looks: bool = False  # whether it takes values out of rows


def read_statement(session: SparkSession, text: str, args: Any = None) -> Statement:
    """Parse a statement; `args` are the values of its parameters, as `SparkSession.sql` has them.

    Raises: what Spark does, where it cannot be parsed.
    """
    plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    kind = _kind(plan)
    if kind in _HARMLESS or kind.startswith(_SHOWN):
        return Statement([], True, looks=kind in _LOOKING)
    find = session._jvm.java.lang.Class.forName  # type: ignore[union-attr]
    kinds = [find(f"{_LOGICAL}.{name}") for name in _CHANGING]
    changing = [node for node in _nodes(plan) if any(kind.isInstance(node) for kind in kinds)]
    if not changing:
        may_run = _QUERY.match(text) is not None
        return Statement([], may_run, "" if may_run else _called(kind))
    planned = (_planned(session, plan, node, args) for node in changing)
    writes = [one for one in planned if one is not None]
    is_missed = not writes and not kind.startswith(_ROWLESS)
    return Statement(writes, False, _called(kind) if is_missed else "")


def _called(kind: str) -> str:
    """A kind of statement as SQL names it, such as EXECUTE IMMEDIATE."""
    words = _WORD.findall(kind.removeprefix("Unresolved"))
    return _NAMED.get(kind, " ".join(words).upper())


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for n in range(children.size()):
        yield from _nodes(children.apply(n))


def _planned(session: SparkSession, plan: Any, node: Any, args: Any) -> Planned | None:
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
    if kind == "InsertIntoDir":
        return Planned(target, _frame_of(session, plan, node.child(), args))
    if kind in _CREATING:
        return Planned(target, _frame_of(session, plan, node.query(), args), match=Match.NAME)
    write = _with_values(session, _with_ctes(session, plan, node), args)
    return converted_statement(session, target, write) or Planned(
        target, _frame_of(session, plan, node.query(), args), match=Match.STATEMENT
    )


def _frame_of(session: SparkSession, plan: Any, query: Any, args: Any) -> DataFrame:
    return frame_of(session, _with_values(session, _with_ctes(session, plan, query), args))


def _with_ctes(session: SparkSession, plan: Any, query: Any) -> Any:
    """A query or write with the tables that the statement around it names."""
    if _kind(plan) != "UnresolvedWith":
        return query
    return plan.withNewChildren(session._jvm.PythonUtils.toSeq([query]))  # type: ignore[union-attr]


def _with_values(session: SparkSession, query: Any, args: Any) -> Any:
    """A query or write with the values of the parameters in it: by name, or by their order."""
    if not args:
        return query
    jvm: Any = session._jvm
    given = args if isinstance(args, dict) else {str(n): one for n, one in enumerate(args)}
    own: Any = session._jsparkSession
    columns = {name: own.expression(F.lit(one)._jc) for name, one in given.items()}
    known = own.resolveAndValidateParameters(jvm.PythonUtils.toScalaMap(columns))
    values = jvm.PythonUtils.toSeq([known.apply(name) for name in given])
    analysis = jvm.org.apache.spark.sql.catalyst.analysis
    if isinstance(args, dict):
        return analysis.NameParameterizedQuery(query, jvm.PythonUtils.toSeq([*given]), values)
    return analysis.PosParameterizedQuery(query, values)


def _name(parts: Any) -> str:
    names = (str(parts.apply(n)).replace("`", "``") for n in range(parts.size()))
    return ".".join(f"`{name}`" for name in names)
