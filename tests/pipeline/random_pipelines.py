"""Random pipelines over two small sources, each step once for Spark and once for DuckDB."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SOURCES = {
    "orders": "topic string, partition int, offset long, k string, v int, s string, t int",
    "suppliers": "topic string, partition int, offset long, k string, w int",
}
IDS = ("topic", "partition", "offset")
Rows = dict[str, list[tuple[Any, ...]]]
SPAN_S = 10  # of an event-time window


class Step(NamedTuple):
    """One operator: what it is called, and how each engine evaluates it."""

    kind: str
    spark: Callable[[DataFrame], DataFrame]
    sql: Callable[[str], str]  # from the query before it


class Pipeline(NamedTuple):
    """Steps after a source."""

    steps: list[Step]

    @property
    def kinds(self) -> list[str]:
        """The kinds of operators that it has."""
        return [*dict.fromkeys(step.kind for step in self.steps)] or ["projection"]

    def frame(self, orders: DataFrame) -> DataFrame:
        """The pipeline for Spark."""
        frame = orders.select("k", "v", "s", "t")
        for step in self.steps:
            frame = step.spark(frame)
        return frame

    def sql(self) -> str:
        """The pipeline for DuckDB."""
        text = "SELECT k, v, s, t FROM orders"
        for step in self.steps:
            text = step.sql(text)
        return text


def random_rows(rng: random.Random) -> Rows:
    """Records of both sources; values repeat, and some are missing."""
    orders = [
        ("orders", n % 2, n // 2, rng.choice(["a", "b", "c", None]), rng.choice([0, 1, 2, 3, None]),
         rng.choice("xyz"), rng.randint(0, 35))
        for n in range(rng.randint(4, 12))
    ]  # fmt: skip
    suppliers = [
        ("suppliers", 0, n, rng.choice(["a", "b", "c", "d"]), rng.choice([1, 2, 5]))
        for n in range(rng.randint(2, 5))
    ]
    return {"orders": orders, "suppliers": suppliers}


def random_pipeline(
    rng: random.Random, spark: SparkSession, frames: dict[str, DataFrame]
) -> Pipeline:
    """Up to three operators, and most often one that brings rows together."""
    makers = [_filter, _projection, _union, _join, _aggregate, _window, _event_window, _dedup]
    builder = _Builder(rng, spark, frames)
    for make in rng.choices(makers, k=rng.randint(1, 3)):
        make(builder)
    return Pipeline(builder.steps)


class _Builder:
    def __init__(
        self, rng: random.Random, spark: SparkSession, frames: dict[str, DataFrame]
    ) -> None:
        self.rng, self.spark, self.frames = rng, spark, frames
        self.steps: list[Step] = []
        self.numbers, self.texts = ["v", "t"], ["k", "s"]
        self.has_time = True

    @property
    def columns(self) -> list[str]:
        return [*self.texts, *self.numbers]

    def add(self, kind: str, text: str) -> None:
        """A step that reads the same in both: `{0}` is what it reads."""

        def spark(frame: DataFrame) -> DataFrame:
            return self.spark.sql(text.replace("{0}", "{frame}"), frame=frame)

        self.steps.append(Step(kind, spark, lambda inner: text.replace("{0}", f"({inner})")))

    def name(self, kind: str) -> str:
        return f"{kind}{len(self.steps)}"


def _filter(made: _Builder) -> None:
    number, text = made.rng.choice(made.numbers or ["1"]), made.rng.choice(made.texts or ["'x'"])
    condition = made.rng.choice(
        [f"{number} >= 1", f"{number} IS NOT NULL", f"{text} <> 'a'", f"{text} IN ('a', 'x')",
         f"{number} < 3 OR {text} = 'b'", f"coalesce({number}, 0) % 2 = 0"]
    )  # fmt: skip
    made.add("filter", f"SELECT * FROM {{0}} WHERE {condition}")


def _projection(made: _Builder) -> None:
    kept = [name for name in made.columns if name == "k" or made.rng.random() < 0.7] or made.columns
    new = made.name("p")
    number = made.rng.choice(made.numbers or ["1"])
    text = made.rng.choice(made.texts or ["'x'"])
    formula = made.rng.choice(
        [f"{number} * 2", f"CASE WHEN {number} > 1 THEN 1 ELSE 0 END", f"length({text})",
         f"coalesce({number}, 7)"]
    )  # fmt: skip
    made.add("projection", f"SELECT {', '.join(kept)}, {formula} AS {new} FROM {{0}}")
    made.texts = [name for name in made.texts if name in kept]
    made.numbers = [name for name in made.numbers if name in kept] + [new]
    made.has_time = made.has_time and "t" in kept


def _union(made: _Builder) -> None:
    listed = ", ".join(made.columns)
    number = made.rng.choice(made.numbers or ["1"])
    made.add("union", f"WITH a AS (SELECT {listed} FROM {{0}}) SELECT * FROM a UNION ALL "
             f"SELECT * FROM a WHERE {number} > 1")  # fmt: skip


def _join(made: _Builder) -> None:
    if "k" not in made.texts:
        _filter(made)
        return
    kind, new = made.rng.choice(["INNER", "LEFT", "LEFT SEMI", "LEFT ANTI"]), made.name("w")
    is_wide = kind in ("INNER", "LEFT")
    listed = ", ".join(f"l.{name}" for name in made.columns) + (
        f", r.w AS {new}" if is_wide else ""
    )
    text = f"SELECT {listed} FROM {{0}} l {kind} JOIN {{1}} r ON l.k = r.k"

    def spark(frame: DataFrame) -> DataFrame:
        told = text.replace("{0}", "{frame}").replace("{1}", "{suppliers}")
        return made.spark.sql(told, frame=frame, suppliers=made.frames["suppliers"])

    def sql(inner: str) -> str:
        told = text.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
        return told.replace("{0}", f"({inner})").replace("{1}", "suppliers")

    made.steps.append(Step(f"join ({kind.lower()})", spark, sql))
    made.numbers += [new] if is_wide else []


def _aggregate(made: _Builder) -> None:
    keys = made.rng.sample(made.texts, min(len(made.texts), made.rng.randint(0, 2)))
    _grouped(made, "aggregate", keys, [])


def _event_window(made: _Builder) -> None:
    if not made.has_time:
        _aggregate(made)
        return
    keys = made.rng.sample(made.texts, min(len(made.texts), made.rng.randint(0, 1)))
    new = made.name("start")
    length = f"{SPAN_S} seconds"

    def spark(frame: DataFrame) -> DataFrame:
        window = F.window(F.timestamp_seconds("t"), length)
        return frame.withColumn(new, window["start"].cast("long").cast("int"))

    made.steps.append(
        Step("event-time window", spark,
             lambda inner: f"SELECT *, (t // {SPAN_S}) * {SPAN_S} AS {new} FROM ({inner})")
    )  # fmt: skip
    _grouped(made, "event-time window", [*keys, new], [new])


def _grouped(made: _Builder, kind: str, keys: list[str], numeric: list[str]) -> None:
    number, new = made.rng.choice(made.numbers or ["1"]), made.name("g")
    functions = ["count(*)", f"sum({number})", f"max({number})", f"min({number})",
                 f"count(DISTINCT {number})", f"avg({number})"]  # fmt: skip
    chosen = made.rng.sample(functions, made.rng.randint(1, 2))
    columns = [*keys, *(f"{one} AS {new}_{n}" for n, one in enumerate(chosen))]
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    made.add(kind, f"SELECT {', '.join(columns)} FROM {{0}}{by}")
    made.texts = [key for key in keys if key not in numeric]
    made.numbers = [*numeric, *(f"{new}_{n}" for n in range(len(chosen)))]
    made.has_time = False


def _window(made: _Builder) -> None:
    number, text = made.rng.choice(made.numbers or ["1"]), made.rng.choice(made.texts or ["'x'"])
    new, order = made.name("n"), f"ORDER BY {number} NULLS FIRST"
    function, kind = made.rng.choice(
        [(f"rank() OVER (PARTITION BY {text} {order})", "window (rank)"),
         (f"sum({number}) OVER (PARTITION BY {text})", "window (total)"),
         (f"count(*) OVER (PARTITION BY {text} {order})", "window (running)"),
         (f"row_number() OVER (PARTITION BY {text} {order})", "window (row_number)")]
    )  # fmt: skip
    listed = ", ".join(made.columns)
    text = f"SELECT {listed}, {function} AS {new} FROM {{0}}"
    if kind == "window (row_number)":
        # Spark may take equal rows in any order; the truth needs one.
        made.steps.append(_ordered(made, kind, text, order, listed))
    else:
        made.add(kind, text)
    if made.rng.random() < 0.5:
        made.add("filter", f"SELECT * FROM {{0}} WHERE {new} <= 2")
    made.numbers.append(new)


def _ordered(made: _Builder, kind: str, text: str, order: str, listed: str) -> Step:
    return Step(
        kind,
        lambda frame: made.spark.sql(text.replace("{0}", "{frame}"), frame=frame),
        lambda inner: text.replace(order, f"{order}, {listed}").replace("{0}", f"({inner})"),
    )


def _dedup(made: _Builder) -> None:
    if made.rng.random() < 0.5 or not made.texts:
        made.add("distinct", f"SELECT DISTINCT {', '.join(made.columns)} FROM {{0}}")
        return
    keys = made.rng.sample(made.texts, 1)
    order = ", ".join(made.columns)
    first = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {order}) = 1"
    step = Step(
        "deduplication", lambda frame: frame.dropDuplicates(keys),
        lambda inner: f"SELECT * FROM ({inner}) QUALIFY {first}",
    )  # fmt: skip
    made.steps.append(step)
