"""The oracle: change one input column, run the query again, see which outputs change.

It runs queries in DuckDB, which knows nothing of Spark's plans, over views of the tables in
the schema `base`. Each change it sees must be an edge that capture found; an edge it never
sees is only counted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from headwater.capture.plan import PlanLineage

Row = tuple[Any, ...]


class Verdict(NamedTuple):
    """What the oracle saw of one query."""

    missed: frozenset[tuple[str, str, str]]
    confirmed: int
    edges: int

    @property
    def unconfirmed(self) -> int:
        return self.edges - self.confirmed


def judge(
    db: duckdb.DuckDBPyConnection,
    sql: str,
    tables: Sequence[str],
    lineage: PlanLineage,
    *,
    named_only: bool = False,
) -> Verdict:
    """Compare captured lineage with the changes that really happen."""
    captured = _captured(lineage)
    names = [name for name, _ in lineage.columns]
    seen = observed(db, sql, tables, names, named_only=named_only)
    return Verdict(frozenset(seen - captured), len(seen & captured), len(captured))


def observed(
    db: duckdb.DuckDBPyConnection,
    sql: str,
    tables: Sequence[str],
    names: list[str],
    *,
    named_only: bool = False,
) -> set[tuple[str, str, str]]:
    """Every change that was seen: table, column, and the output that changed with it.

    With `named_only`, columns that the query does not name stay as they are: for queries
    without a star over a table, where nothing else can make them matter.
    """
    before = _columns(db, sql)
    seen: set[tuple[str, str, str]] = set()
    for table, column, view in _changes(db, tables):
        if named_only and not re.search(rf"\b{column}\b", sql, re.IGNORECASE):
            continue
        db.execute(view)
        seen.update((table, column, output) for output in _differing(db, sql, before, names))
        db.execute(f"create or replace view {table} as from base.{table}")
    return seen


def _captured(lineage: PlanLineage) -> set[tuple[str, str, str]]:
    tables = [(source.table or "?").rpartition(".")[2] for source in lineage.sources]
    return {
        (tables[edge.origin.source], edge.origin.field.lower(), name)
        for name, column in lineage.columns
        for edge in lineage.inputs(column)
    }


def _differing(
    db: duckdb.DuckDBPyConnection, sql: str, before: list[list[Any]], names: list[str]
) -> list[str]:
    try:
        after = _columns(db, sql)
    except duckdb.InvalidInputException:
        return []  # such as a scalar subquery that now has two rows: nothing to compare
    return [name for name, old, new in zip(names, before, after, strict=True) if old != new]


def _columns(db: duckdb.DuckDBPyConnection, sql: str) -> list[list[Any]]:
    """Each output column as the sorted bag of its values: a change of order is no change."""
    result = db.execute(sql)
    rows: list[Row] = result.fetchall()
    width = len(result.description)
    return [sorted((_plain(row[n]) for row in rows), key=repr) for n in range(width)]


def _plain(value: Any) -> Any:
    # Sums of floats depend on the order of rows in their last digits.
    return round(value, 6) if isinstance(value, float) else value


def _changes(
    db: duckdb.DuckDBPyConnection, tables: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    for table in tables:
        described = db.execute(f"describe base.{table}").fetchall()
        columns = {str(row[0]): str(row[1]) for row in described}
        for column, kind in columns.items():
            for value in (_other(column, kind), _neighbour(column)):
                chosen = ", ".join(value if c == column else f'"{c}"' for c in columns)
                view = f"create or replace view {table} as select {chosen} from base.{table}"
                yield table, column.lower(), view


def _other(column: str, kind: str) -> str:
    """Another value in every second row."""
    return f'case when rowid % 2 = 0 then {_moved(column, kind)} else "{column}" end as "{column}"'


def _moved(column: str, kind: str) -> str:
    if kind.startswith(("DATE", "TIMESTAMP")):
        return f"cast(\"{column}\" + interval '40' day as {kind})"
    if kind.startswith("VARCHAR") or kind.endswith("]"):
        return f"null::{kind}" if kind.endswith("]") else f"\"{column}\" || 'z'"
    return f'cast("{column}" + 1 as {kind})'


def _neighbour(column: str) -> str:
    """Every row has the value of the row after it."""
    over = "over (order by rowid)"
    return f'coalesce(lead("{column}") {over}, first_value("{column}") {over}) as "{column}"'


class Tally:
    """Verdicts of many queries, for a report."""

    def __init__(self) -> None:
        self.queries = self.confirmed = self.edges = 0
        self.missed: Counter[str] = Counter()

    def add(self, query: str, verdict: Verdict) -> None:
        self.queries += 1
        self.confirmed += verdict.confirmed
        self.edges += verdict.edges
        if verdict.missed:
            self.missed[f"{query}\n  missed {sorted(verdict.missed)}"] += 1

    def write(self, path: Path, title: str) -> None:
        """Append a line to a report."""
        with path.open("a") as report:
            report.write(f"{title}: {self}\n")

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, {self.edges} edges captured, {self.confirmed} confirmed, "
            f"{sum(self.missed.values())} queries with a missed edge"
        )
