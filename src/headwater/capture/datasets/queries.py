"""Finds the tables and columns behind a query that a database runs for Spark.

`spark.read.jdbc` takes a subquery in a table's place: the datasets are the tables that it
reads, not its text.
"""

import logging
from collections.abc import Iterator
from typing import Any

import sqlglot
from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import Scope, build_scope, find_all_in_scope

from headwater.capture.plan.lineage import Effect, combined

_DIALECTS = {
    "postgresql": "postgres",
    "mariadb": "mysql",
    "sqlserver": "tsql",
    **{name: name for name in ("mysql", "oracle", "sqlite", "snowflake", "redshift", "trino")},
}
_DECIDING = (
    ("where", Effect.FILTER),
    ("having", Effect.FILTER),
    ("qualify", Effect.FILTER),
    ("group", Effect.GROUP_BY),
    ("order", Effect.SORT),
)
# A query nested deeper than this is not followed.
_MOST_LEVELS = 100


class Behind(Struct, frozen=True):
    """A column of a table that takes part in a column of a query."""

    field: str
    column: str
    effect: Effect


Tables = dict[str, tuple[Behind, ...]]


def is_query(table_or_query: str) -> bool:
    """Whether a database is asked by a query and not by a table's name."""
    text = table_or_query.lstrip()
    return text.startswith("(") or text[:7].upper() in ("SELECT ", "SELECT\n", "WITH ")


def read_query(text: str, kind: str, fields: tuple[str, ...]) -> Tables | None:
    """The tables that a query reads, each with the columns behind the query's `fields`.

    None if the query cannot be parsed.
    """
    dialect = _DIALECTS.get(kind)
    # The parser logs what it falls back from; nobody can do anything about it.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        parsed = sqlglot.parse_one(_unwrapped(text), read=dialect)
        normalized = normalize_identifiers(parsed, dialect=dialect)
        scope = build_scope(qualify_tables(normalized, dialect=dialect))
    except (SqlglotError, RecursionError):
        return None
    if scope is None:
        return None
    tables: dict[str, dict[Behind, None]] = {
        _name(table): {}
        for inner in scope.traverse()
        for table in inner.sources.values()
        if isinstance(table, exp.Table)
    }
    deciding = dict.fromkeys(found for inner in scope.traverse() for found in _deciding(inner))
    for field in fields:
        for table, column, effect in [*_behind(scope, field, 0), *deciding]:
            tables[table][Behind(field, column, effect)] = None
    return {table: tuple(found) for table, found in tables.items()}


def _unwrapped(text: str) -> str:
    """A subquery without its parentheses and the alias behind them."""
    text = text.strip()
    return f"SELECT * FROM {text}" if text.startswith("(") else text  # noqa: S608 (only parsed)


_Found = tuple[str, str, Effect]


def _behind(scope: Scope, name: str, level: int) -> Iterator[_Found]:
    """The columns of tables that a column of a query is made of."""
    if level > _MOST_LEVELS:
        return
    if scope.set_operation_scopes:
        position = _position(scope.set_operation_scopes[0], name)
        for part in scope.set_operation_scopes:
            selects = _selects(part)
            inner = selects[position].alias_or_name if position < len(selects) else name
            yield from _behind(part, inner, level + 1)
        return
    named = {one.alias_or_name.casefold(): one for one in reversed(_selects(scope))}
    select = named.get(name.casefold())
    if select is not None:
        effect = _effect(select)
        for column in _columns(select):
            yield from _resolve(scope, column, effect, level)
        return
    stars = [one for one in _selects(scope) if one.is_star]
    if len(stars) == 1:  # of several, nobody knows which one has the column
        table = stars[0].table if isinstance(stars[0], exp.Column) else None
        yield from _resolve(scope, exp.column(name, table=table), Effect.IDENTITY, level)


def _resolve(scope: Scope, column: exp.Column, effect: Effect, level: int) -> Iterator[_Found]:
    source = scope.sources.get(column.table) if column.table else _only_source(scope, column.name)
    if isinstance(source, exp.Table):
        yield _name(source), column.name, effect
    elif isinstance(source, Scope):
        for table, inner, before in _behind(source, column.name, level + 1):
            yield table, inner, combined(before, effect)


def _only_source(scope: Scope, name: str) -> exp.Table | Scope | None:
    """The source of a column that is named without one: a subquery that has it, or the only one."""
    inner = [one for one in scope.sources.values() if isinstance(one, Scope)]
    having = [one for one in inner if _position(one, name) < len(_selects(one))]
    if having:
        return having[0] if len(having) == 1 else None
    tables = [one for one in scope.sources.values() if isinstance(one, exp.Table)]
    if tables:
        return tables[0] if len(tables) == 1 else None
    return inner[0] if len(inner) == 1 else None


def _deciding(scope: Scope) -> Iterator[_Found]:
    """The columns that decide which rows a query has."""
    if scope.set_operation_scopes:
        return
    for part, effect in _DECIDING:
        clause = scope.expression.args.get(part)
        for column in _columns(clause) if clause is not None else ():
            yield from _resolve(scope, column, effect, 0)
    for join in scope.expression.args.get("joins") or ():
        for column in _columns(join):
            yield from _resolve(scope, column, Effect.JOIN, 0)
    if scope.is_subquery:  # IN (SELECT …), EXISTS (SELECT …)
        for column in (column for one in _selects(scope) for column in _columns(one)):
            yield from _resolve(scope, column, Effect.FILTER, 0)


def _columns(part: exp.Expression) -> Iterator[exp.Column]:
    """The columns that a part of a query names, those of its subqueries left out."""
    for found in find_all_in_scope(part, exp.Column):
        if isinstance(found, exp.Column):
            yield found


def _selects(scope: Scope) -> list[Any]:
    query = scope.expression
    return list(query.selects) if isinstance(query, exp.Query) else []


def _position(scope: Scope, name: str) -> int:
    names = [one.alias_or_name.casefold() for one in _selects(scope)]
    return names.index(name.casefold()) if name.casefold() in names else len(names)


def _effect(select: exp.Expression) -> Effect:
    inner = select.unalias()
    if isinstance(inner, exp.Column):
        return Effect.IDENTITY
    return Effect.AGGREGATION if inner.find(exp.AggFunc) else Effect.TRANSFORMATION


def _name(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)
