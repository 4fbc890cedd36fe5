"""Random SQL over structs, arrays and maps, written alike for Spark and for DuckDB."""

import random
from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """The type of a value: a number, a text, or a container with what is inside it."""

    name: str
    fields: "Mapping[str, Kind]"


N, S = Kind("number", {}), Kind("text", {})
GEO = Kind("struct", {"lat": N, "lon": N})
LINE = Kind("struct", {"sku": S, "n": N})
COLUMNS = {
    "id": N,
    "address": Kind("struct", {"street": S, "geo": GEO}),
    "lines": Kind("array", {"": LINE}),
    "attrs": Kind("map", {"": S}),
    "payload": S,
}


class Frame(NamedTuple):
    """A query in both dialects, with the kind of each of its columns."""

    spark: str
    duckdb: str
    columns: dict[str, Kind]


class Value(NamedTuple):
    """An expression in both dialects."""

    spark: str
    duckdb: str
    kind: Kind


class NestedGenerator:
    """Builds queries out of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def query(self) -> Frame:
        frame = Frame("select * from nested", "select * from nested", dict(COLUMNS))
        for _ in range(self.random.randint(1, 4)):
            shapes = [self.select, self.select, self.exploded, self.united, self.grouped]
            frame = self.random.choice(shapes)(frame)
        return frame

    def name(self) -> str:
        self.names += 1
        return f"c{self.names}"

    def select(self, below: Frame) -> Frame:
        values = {self.name(): self.value(below.columns) for _ in range(self.random.randint(2, 4))}
        test = self.scalar(below.columns) if self.random.random() < 0.4 else None
        return self.over(below, values, test)

    def exploded(self, below: Frame) -> Frame:
        """A row for each element of an array."""
        arrays = [c for c, kind in below.columns.items() if kind.name == "array"]
        if not arrays:
            return self.select(below)
        array, name = self.random.choice(arrays), self.name()
        columns = {**below.columns, name: below.columns[array].fields[""]}
        items = ", ".join(columns)
        return Frame(
            f"select {items} from ({below.spark}) t lateral view explode({array}) x as {name}",
            f"select {items} from ({below.duckdb}) t, unnest({array}) x({name})",
            columns,
        )

    def united(self, below: Frame) -> Frame:
        """Two values of the same kind as one column."""
        first, second = self.scalar(below.columns), self.scalar(below.columns)
        if first.kind != second.kind:
            return self.select(below)
        name = self.name()
        parts = [self.over(below, {name: value}) for value in (first, second)]
        return Frame(
            " union all ".join(part.spark for part in parts),
            " union all ".join(part.duckdb for part in parts),
            {name: first.kind},
        )

    def grouped(self, below: Frame) -> Frame:
        key, value = self.scalar(below.columns), self.scalar(below.columns)
        names = self.name(), self.name()
        agg = self.random.choice(["max", "min", "count"])
        kind = N if agg == "count" else value.kind

        def sql(key: str, value: str, below: str) -> str:
            chosen = f"{key} as {names[0]}, {agg}({value}) as {names[1]}"
            return f"select {chosen} from ({below}) t group by {key}"

        return Frame(
            sql(key.spark, value.spark, below.spark),
            sql(key.duckdb, value.duckdb, below.duckdb),
            {names[0]: key.kind, names[1]: kind},
        )

    def over(self, below: Frame, values: dict[str, Value], test: Value | None = None) -> Frame:
        spark = ", ".join(f"{value.spark} as {name}" for name, value in values.items())
        duckdb = ", ".join(f"{value.duckdb} as {name}" for name, value in values.items())
        return Frame(
            f"select {spark} from ({below.spark}) t"
            + (f" where {test.spark} is not null" if test else ""),
            f"select {duckdb} from ({below.duckdb}) t"
            + (f" where {test.duckdb} is not null" if test else ""),
            {name: value.kind for name, value in values.items()},
        )

    def value(self, columns: dict[str, Kind]) -> Value:
        """A column, a value inside one, or a struct or an array that is built of some."""
        roll = self.random.random()
        if roll < 0.25:
            return self.struct(columns)
        if roll < 0.35:
            one = self.scalar(columns)
            return Value(f"array({one.spark})", f"[{one.duckdb}]", Kind("array", {"": one.kind}))
        if roll < 0.55:
            return self.scalar(columns)
        return self.inside(self.column(columns))

    def struct(self, columns: dict[str, Kind]) -> Value:
        fields = {self.name(): self.inside(self.column(columns)) for _ in range(2)}
        spark = ", ".join(f"'{name}', {value.spark}" for name, value in fields.items())
        duckdb = ", ".join(f"'{name}': {value.duckdb}" for name, value in fields.items())
        kinds = {name: value.kind for name, value in fields.items()}
        return Value(f"named_struct({spark})", f"{{{duckdb}}}", Kind("struct", kinds))

    def scalar(self, columns: dict[str, Kind]) -> Value:
        """A number or a text, out of whatever depth."""
        value = self.column(columns)
        while value.kind.fields:
            value = self.step(value)
        if value.kind == S and self.random.random() < 0.4:
            return Value(f"upper({value.spark})", f"upper({value.duckdb})", S)
        return value

    def inside(self, value: Value) -> Value:
        while value.kind.fields and self.random.random() < 0.6:
            value = self.step(value)
        return value

    def column(self, columns: dict[str, Kind]) -> Value:
        name = self.random.choice(list(columns))
        return Value(name, name, columns[name])

    def step(self, value: Value) -> Value:
        """One step into a value."""
        fields = value.kind.fields
        name = self.random.choice(list(fields))
        if value.kind.name == "struct":
            return Value(f"{value.spark}.{name}", f"({value.duckdb}).{name}", fields[name])
        if value.kind.name == "map":
            return Value(f"{value.spark}['k']", f"({value.duckdb})['k']", fields[name])
        return Value(f"{value.spark}[0]", f"({value.duckdb})[1]", fields[name])
