"""The oracle: change one input column, run the query again, see which outputs change.

It runs queries in DuckDB, which knows nothing of Spark's plans, over views of the tables in
the schema `base`. Each change it sees must be an edge that capture found; an edge it never
sees is only counted. Values inside columns are changed one by one as well (`NESTED`), and
looked at one by one in what a query puts out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from headwater.capture.plan import PlanLineage
from headwater.capture.plan.lineage import Column, Origin
from headwater.capture.plan.nested import inside_of

Row = tuple[Any, ...]


# How a value inside a column is changed: the whole column with that value alone different.
NESTED = {
    "nested": {
        "address.street": "{'street': address.street || 'z', 'geo': address.geo}",
        "address.geo.lat": (
            "{'street': address.street,"
            " 'geo': {'lat': address.geo.lat + 1, 'lon': address.geo.lon}}"
        ),
        "address.geo.lon": (
            "{'street': address.street,"
            " 'geo': {'lat': address.geo.lat, 'lon': address.geo.lon + 1}}"
        ),
        "lines._element.sku": "[{'sku': x.sku || 'z', 'n': x.n} for x in lines]",
        "lines._element.n": "[{'sku': x.sku, 'n': x.n + 1} for x in lines]",
        "attrs.key": "map([k || 'z' for k in map_keys(attrs)], map_values(attrs))",
        "attrs.value": "map(map_keys(attrs), [v || 'z' for v in map_values(attrs)])",
    }
}
Change = tuple[str, str, str]  # a table, its column or a value inside it, and an output


class Output(NamedTuple):
    """A column that a query puts out, or a value inside one."""

    position: int
    name: str
    way: tuple[str, ...] = ()  # into the column


class Verdict(NamedTuple):
    """What the oracle saw of one query."""

    missed: frozenset[Change]
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
    outputs = _outputs(lineage)
    captured = _captured(lineage, outputs)
    columns = {(table, name.partition("*")[0], output) for table, name, output in captured}
    seen = observed(db, sql, tables, [*outputs], named_only=named_only)
    missed = {change for change in seen if not _covered(change, captured)}
    return Verdict(frozenset(missed), len(seen & columns), len(columns))


def observed(
    db: duckdb.DuckDBPyConnection,
    sql: str,
    tables: Sequence[str],
    outputs: Sequence[Output],
    *,
    named_only: bool = False,
) -> set[Change]:
    """Every change that was seen: table, column, and the output that changed with it.

    With `named_only`, columns that the query does not name stay as they are: for queries
    without a star over a table, where nothing else can make them matter.
    """
    before = _values(db, sql, outputs)
    seen: set[Change] = set()
    for table, column, view in _changes(db, tables):
        if named_only and not re.search(rf"\b{column}\b", sql, re.IGNORECASE):
            continue
        db.execute(view)
        seen.update((table, column, output) for output in _differing(db, sql, before, outputs))
        db.execute(f"create or replace view {table} as from base.{table}")
    return seen


def _outputs(lineage: PlanLineage) -> dict[Output, Column]:
    """The columns that a query puts out, and the values inside them that lineage tells apart."""
    found: dict[Output, Column] = {}
    for position, (name, column) in enumerate(lineage.columns):
        found[Output(position, name)] = column
        for path, value in inside_of(column, name):
            way = path.removeprefix(f"{name}.").split(".")
            found[Output(position, path, (*way,))] = value
    return found


def _captured(lineage: PlanLineage, outputs: dict[Output, Column]) -> set[Change]:
    """Every edge between columns; one from a value inside a column is `column*value`."""
    tables = [(source.table or "?").rpartition(".")[2] for source in lineage.sources]
    return {
        (tables[edge.origin.source], _marked(edge.origin).lower(), output)
        for (_, output, _), column in outputs.items()
        for edge in lineage.inputs(column)
    }


def _marked(origin: Origin) -> str:
    return f"{origin.field}*{origin.nested}" if origin.nested else origin.field


def _covered(change: Change, captured: set[Change]) -> bool:
    """Whether there is an edge from the changed value, from what holds it, or from inside it."""
    table, name, output = change
    column, _, inner = name.partition(".")
    edges = [n.partition("*") for t, n, o in captured if (t, o) == (table, output)]
    ways = [way for field, _, way in edges if field == column]
    return any(not inner or f"{inner}.".startswith(f"{way}." if way else "") for way in ways)


def _differing(
    db: duckdb.DuckDBPyConnection, sql: str, before: list[list[Any]], outputs: Sequence[Output]
) -> list[str]:
    try:
        after = _values(db, sql, outputs)
    except duckdb.InvalidInputException:
        return []  # such as a scalar subquery that now has two rows: nothing to compare
    pairs = zip(outputs, before, after, strict=True)
    return [output.name for output, old, new in pairs if old != new]


def _values(db: duckdb.DuckDBPyConnection, sql: str, outputs: Sequence[Output]) -> list[list[Any]]:
    """Each output as the sorted bag of its values: a change of order is no change."""
    rows: list[Row] = db.execute(sql).fetchall()
    return [
        sorted((_plain(_inside(row[one.position], one.way)) for row in rows), key=repr)
        for one in outputs
    ]


def _inside(value: Any, way: Sequence[str]) -> Any:
    """What is inside a value of DuckDB: structs and maps are dicts, arrays are lists."""
    for depth, segment in enumerate(way):
        if value is None:
            return None
        if segment == "_element":
            return [_inside(item, way[depth + 1 :]) for item in value]
        if segment in ("key", "value") and segment not in value:
            items = value if segment == "key" else value.values()
            return [_inside(item, way[depth + 1 :]) for item in items]
        value = value[segment]
    return value


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
        for path, changed in NESTED.get(table, {}).items():
            holder = path.partition(".")[0]
            chosen = ", ".join(f"{changed} as {c}" if c == holder else f'"{c}"' for c in columns)
            yield (
                table,
                path,
                f"create or replace view {table} as select {chosen} from base.{table}",
            )


def _other(column: str, kind: str) -> str:
    """Another value in every second row."""
    return f'case when rowid % 2 = 0 then {_moved(column, kind)} else "{column}" end as "{column}"'


def _moved(column: str, kind: str) -> str:
    if kind.startswith(("DATE", "TIMESTAMP")):
        return f"cast(\"{column}\" + interval '40' day as {kind})"
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP")):
        return f"null::{kind}"
    if kind.startswith("VARCHAR"):
        return f"\"{column}\" || 'z'"
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
