"""The oracle of rows: a record matters to a row if the row is another without it.

DuckDB evaluates a pipeline without each record in turn; what `headwater why --records` finds by
Spark's plan is compared with that.
"""

import random
from typing import Any, NamedTuple

import duckdb
from pyspark.sql import DataFrame, Row, SparkSession

from headwater.trace import catalyst
from headwater.trace.derivation import Derivation, Source
from pipeline.random_pipelines import (
    IDS,
    SOURCES,
    Pipeline,
    Rows,
    random_pipeline,
    random_rows,
)

Place = tuple[str, int, int]


class Judged(NamedTuple):
    """One row: what was answered, and what is true."""

    pipeline: str
    kinds: list[str]
    row: tuple[Any, ...]
    truth: set[Place]
    answer: set[Place]
    exact: bool
    complete: bool
    reason: str

    @property
    def fault(self) -> str | None:
        """What is wrong with the answer, if anything is."""
        if self.exact and self.answer != self.truth:
            return "exact, and another set"
        if not self.complete:
            return "incomplete, though all is there"
        return None if self.answer >= self.truth else "a record is missing"


class RowOracle:
    """Judges rows of random pipelines with one Spark session and one DuckDB."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._db = duckdb.connect(":memory:", config={"threads": 1})

    def close(self) -> None:
        self._db.close()

    def judge(self, seed: int, most: int = 5) -> list[Judged]:
        """Some rows of one random pipeline."""
        rng = random.Random(seed)
        rows = random_rows(rng)
        frames = {
            name: self._spark.createDataFrame(rows[name], columns)
            for name, columns in SOURCES.items()
        }
        # Leaves that are told apart by their columns, and that Spark does not evaluate at once.
        held = {name: frame.localCheckpoint(eager=False) for name, frame in frames.items()}
        pipeline = random_pipeline(rng, self._spark, held)
        frame = pipeline.frame(held["orders"])
        output = self._output(pipeline, rows)
        without = {
            record[:3]: {*self._output(pipeline, _less(rows, record))}
            for records in rows.values()
            for record in records
        }
        chosen = rng.sample(sorted(output, key=repr), min(most, len(output)))
        found = Derivation(self._spark, frame, lambda leaf: _source(leaf, held))
        return [self._judged(found, frame, pipeline, row, without) for row in chosen]

    def _judged(
        self, found: Derivation, frame: DataFrame, pipeline: Pipeline, row: tuple[Any, ...],
        without: dict[Any, set[tuple[Any, ...]]],
    ) -> Judged:  # fmt: skip
        derived = found.of(Row(*frame.columns)(*row))
        answer = {
            tuple(one[name] for name in IDS) for rows in derived.rows.values() for one in rows
        }
        truth = {place for place, left in without.items() if row not in left}
        return Judged(
            pipeline.sql(), pipeline.kinds, row, truth, answer, derived.exact, derived.complete,
            derived.reason,
        )  # fmt: skip

    def _output(self, pipeline: Pipeline, rows: Rows) -> set[tuple[Any, ...]]:
        for name, records in rows.items():
            self._db.execute(f"CREATE OR REPLACE TABLE {name} ({_columns(name)})")
            if records:
                marks = ", ".join("?" * len(records[0]))
                self._db.executemany(f"INSERT INTO {name} VALUES ({marks})", records)
        return {*map(tuple, self._db.execute(pipeline.sql()).fetchall())}


def _columns(name: str) -> str:
    fields = (field.split() for field in SOURCES[name].split(", "))
    return ", ".join(f'"{field}" {kind.replace("long", "bigint")}' for field, kind in fields)


def _less(rows: Rows, record: tuple[Any, ...]) -> Rows:
    return {name: [one for one in records if one != record] for name, records in rows.items()}


def _source(leaf: Any, held: dict[str, DataFrame]) -> Source | None:
    columns = [column.name() for column in catalyst.listed(leaf.output())]
    name = next((name for name, frame in held.items() if frame.columns == columns), None)
    return Source(name, held[name], IDS) if name else None
