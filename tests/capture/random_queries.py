"""Random SQL over the small tables that Spark and DuckDB read alike."""

import random
from typing import NamedTuple

COLUMNS = {
    "orders": {"order_id": "n", "customer_id": "n", "item": "s", "price": "n", "qty": "n"},
    "customers": {"customer_id": "n", "name": "s", "city": "s", "credit": "n"},
    "items": {"item": "s", "category": "s", "weight": "n"},
}


class Frame(NamedTuple):
    """SQL of a query, with the kind of each of its columns."""

    sql: str
    columns: dict[str, str]


class Generator:
    """Builds queries out of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def query(self) -> str:
        return self.frame(self.random.randint(2, 4)).sql

    def frame(self, depth: int) -> Frame:
        if depth == 0:
            return self.table()
        shapes = [
            self.select,
            self.select,
            self.grouped,
            self.joined,
            self.joined,
            self.union,
            self.windowed,
            self.filtered_by_subquery,
            self.distinct,
            self.setop,
        ]
        return self.random.choice(shapes)(depth - 1)

    def name(self) -> str:
        self.names += 1
        return f"c{self.names}"

    def table(self) -> Frame:
        table = self.random.choice(list(COLUMNS))
        columns = COLUMNS[table]
        renamed = {self.name(): column for column in columns}
        chosen = ", ".join(f"{column} as {name}" for name, column in renamed.items())
        return Frame(f"select {chosen} from {table}", {n: columns[c] for n, c in renamed.items()})

    def select(self, depth: int) -> Frame:
        below = self.frame(depth)
        columns, items = self.expressions(below.columns)
        where = f" where {self.condition(below.columns)}" if self.random.random() < 0.5 else ""
        return Frame(f"select {items} from ({below.sql}) t{where}", columns)

    def distinct(self, depth: int) -> Frame:
        below = self.frame(depth)
        columns, items = self.expressions(below.columns)
        return Frame(f"select distinct {items} from ({below.sql}) t", columns)

    def grouped(self, depth: int) -> Frame:
        below = self.frame(depth)
        keys = self.some(below.columns, 2)
        columns = {self.name(): below.columns[key] for key in keys}
        items = [f"{key} as {name}" for key, name in zip(keys, columns, strict=True)]
        for _ in range(self.random.randint(1, 3)):
            name = self.name()
            items.append(f"{self.aggregate(below.columns)} as {name}")
            columns[name] = "n"
        having = f" having {self.aggregate(below.columns)} > 2" if self.flip(0.3) else ""
        group = f" group by {', '.join(keys)}" if keys else ""
        return Frame(f"select {', '.join(items)} from ({below.sql}) t{group}{having}", columns)

    def joined(self, depth: int) -> Frame:
        left, right = self.frame(depth), self.frame(self.random.randint(0, depth))
        pairs = [
            (a, b)
            for a, kind in left.columns.items()
            for b, other in right.columns.items()
            if kind == other
        ]
        how = self.random.choice(["join", "left join", "full outer join", "cross join"])
        if not pairs or how == "cross join":
            how, on = "cross join", ""
        else:
            on = " on " + " = ".join(self.random.choice(pairs))
        both = {**left.columns, **right.columns}
        columns, items = self.expressions(both)
        sql = f"select {items} from ({left.sql}) l {how} ({right.sql}) r{on}"
        return Frame(sql, columns)

    def union(self, depth: int) -> Frame:
        left, right = self.frame(depth), self.frame(self.random.randint(0, depth))
        word = self.random.choice(["union all", "union"])
        return self.positional(left, right, word)

    def setop(self, depth: int) -> Frame:
        left, right = self.frame(depth), self.frame(self.random.randint(0, depth))
        return self.positional(left, right, self.random.choice(["intersect", "except"]))

    def positional(self, left: Frame, right: Frame, word: str) -> Frame:
        kinds = [
            (a, b)
            for a, kind in left.columns.items()
            for b in [self.like(right.columns, kind)]
            if b
        ][:3]
        if not kinds:
            return left
        names = [self.name() for _ in kinds]
        first = ", ".join(f"{a} as {n}" for (a, _), n in zip(kinds, names, strict=True))
        second = ", ".join(b for _, b in kinds)
        sql = f"select {first} from ({left.sql}) t {word} select {second} from ({right.sql}) t"
        columns = {n: left.columns[a] for (a, _), n in zip(kinds, names, strict=True)}
        return Frame(sql, columns)

    def windowed(self, depth: int) -> Frame:
        below = self.frame(depth)
        columns, items = self.expressions(below.columns)
        name, key = self.name(), self.random.choice(list(below.columns))
        everything = ", ".join(below.columns)
        function = self.random.choice(
            [
                self.aggregate(below.columns).replace("distinct ", ""),
                "rank()",
                "dense_rank()",
                "count(*)",
            ]
        )
        order = f" order by {everything}" if "rank" in function else ""
        over = f"{function} over (partition by {key}{order})"
        return Frame(
            f"select {items}, {over} as {name} from ({below.sql}) t", {**columns, name: "n"}
        )

    def filtered_by_subquery(self, depth: int) -> Frame:
        below, inner = self.frame(depth), self.frame(self.random.randint(0, depth))
        columns, items = self.expressions(below.columns)
        key = self.random.choice(list(below.columns))
        other = self.like(inner.columns, below.columns[key])
        if other is None:
            return below
        test = self.random.choice(
            [
                f"{key} in (select {other} from ({inner.sql}) s)",
                f"exists (select 1 from ({inner.sql}) s where s.{other} = t.{key})",
                f"not exists (select 1 from ({inner.sql}) s where s.{other} = t.{key})",
                f"{key} > (select min({other}) from ({inner.sql}) s)",
            ]
        )
        return Frame(f"select {items} from ({below.sql}) t where {test}", columns)

    def expressions(self, columns: dict[str, str]) -> tuple[dict[str, str], str]:
        found, items = {}, []
        for _ in range(self.random.randint(1, 4)):
            expression, kind = self.expression(columns)
            name = self.name()
            found[name] = kind
            items.append(f"{expression} as {name}")
        return found, ", ".join(items)

    def expression(self, columns: dict[str, str]) -> tuple[str, str]:
        a, b = self.random.choice(list(columns)), self.random.choice(list(columns))
        numbers = [c for c, kind in columns.items() if kind == "n"]
        roll = self.random.random()
        if roll < 0.4:
            return a, columns[a]
        if roll < 0.6 and columns[a] == columns[b]:
            return f"case when {self.condition(columns)} then {a} else {b} end", columns[a]
        if roll < 0.7 and columns[a] == columns[b]:
            return f"coalesce({a}, {b})", columns[a]
        if roll < 0.85 and len(numbers) > 1:
            x, y = self.random.sample(numbers, 2)
            return f"({x} {self.random.choice('+-*')} {y})", "n"
        if columns[a] == "s":
            return f"upper({a})", "s"
        return f"({a} * 2 + 1)", "n"

    def condition(self, columns: dict[str, str]) -> str:
        column = self.random.choice(list(columns))
        if columns[column] == "s":
            return self.random.choice([f"{column} > 'c'", f"{column} is not null"])
        return self.random.choice([f"{column} > 3", f"{column} between 1 and 5"])

    def aggregate(self, columns: dict[str, str]) -> str:
        numbers = [c for c, kind in columns.items() if kind == "n"]
        any_column = self.random.choice(list(columns))
        choices = ["count(*)", f"count(distinct {any_column})", f"count({any_column})"]
        for number in numbers:
            choices += [f"sum({number})", f"max({number})", f"avg({number})"]
        return self.random.choice(choices)

    def some(self, columns: dict[str, str], most: int) -> list[str]:
        count = self.random.randint(0, min(most, len(columns)))
        return self.random.sample(list(columns), count)

    def like(self, columns: dict[str, str], kind: str) -> str | None:
        found = [column for column, other in columns.items() if other == kind]
        return self.random.choice(found) if found else None

    def flip(self, chance: float) -> bool:
        return self.random.random() < chance
