"""Whatever an application writes with: the plan gives the rows that Spark really writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import Row, SparkSession

from headwater.trace.given import Evaluated, Given, GivenPlan
from headwater.trace.iceberg import IcebergTable

_V3 = "USING iceberg TBLPROPERTIES ('format-version' = '3'{})"
_ZONE = "spark.sql.session.timeZone"
_JOB = {_ZONE: "America/New_York", "user.timezone": "UTC"}
_ALL, _OUT = "writes.db.orders", "writes.db.out"
_SESSION = (
    "from pyspark.sql import SparkSession, functions as F\n"
    "spark = SparkSession.builder.getOrCreate()\n"
)
# The first and the last time are of the same day in New York and in UTC, as are the texts swapped:
# a conversion of another zone, or a match by the other order, gives the row of another order.
_ORDERS = [
    (id_, *texts, at)
    for id_, (texts, at) in enumerate(
        (texts, at)
        for texts in (("a", "b"), ("b", "a"))
        for at in ("2026-01-02T02:00:00Z", "2026-01-01T03:00:00Z")
    )
]
_COLUMNS = "item STRING, order_id STRING, day DATE"
_ROWS = "SELECT order_id, item, at FROM {s}"
_NAMED = "SELECT order_id, item, at AS day FROM {s}"
_FRAME = "spark.table('{s}').select('order_id', 'item', F.col('at').alias('day'))"
_PLAIN = "spark.table('{s}').select('order_id', 'item', 'at')"
_STREAM = (
    "spark.readStream.table('{s}')"
    ".selectExpr('order_id AS item', 'item AS order_id', 'date(at) AS day')"
    ".writeStream.trigger(availableNow=True).option('checkpointLocation', '{place}')"
)
_STATIC = "PARTITION (item = 'z') SELECT item, at FROM {s}"
_OTHER = "INSERT INTO writes.db.other"
_INTO = "lambda some, _: some.write.insertInto('{t}')"
_BY_ITEM, _BY_DAY = "PARTITIONED BY (item)", "PARTITIONED BY (day)"
# By what it is: the partitions of the table, and the write.
_WRITES = {
    "INSERT": ("", f"INSERT INTO {{t}} {_ROWS}"),
    "INSERT BY NAME": ("", f"INSERT INTO {{t}} BY NAME {_NAMED}"),
    "INSERT with columns": (
        "",
        "INSERT INTO {t} (day, order_id, item) SELECT at, item, order_id FROM {s}",
    ),
    "INSERT with some columns": ("", "INSERT INTO {t} (day, order_id) SELECT at, item FROM {s}"),
    "INSERT BY NAME of some columns": ("", "INSERT INTO {t} BY NAME SELECT at AS day FROM {s}"),
    "INSERT of all columns": ("", "INSERT INTO {t} SELECT * EXCEPT (id) FROM {s}"),
    "INSERT with a common table": (
        "",
        "WITH a AS (SELECT * FROM {s}) INSERT INTO {t} SELECT order_id, item, at FROM a",
    ),
    "INSERT of DEFAULT": ("", "INSERT INTO {t} SELECT DEFAULT, item, at FROM {s}"),
    "INSERT OVERWRITE": ("", f"INSERT OVERWRITE {{t}} {_ROWS}"),
    "INSERT OVERWRITE BY NAME": ("", f"INSERT OVERWRITE {{t}} BY NAME {_NAMED}"),
    "REPLACE WHERE": (
        "",
        "INSERT INTO {t} REPLACE WHERE true SELECT order_id, item, at FROM {s}",
    ),
    "static partition": (_BY_ITEM, f"INSERT INTO {{t}} {_STATIC}"),
    "static partition, overwritten": (
        _BY_ITEM,
        f"INSERT OVERWRITE {{t}} {_STATIC}",
    ),
    "dynamic partition": (_BY_DAY, f"INSERT INTO {{t}} PARTITION (day) {_ROWS}"),
    "dynamic partition, overwritten": (_BY_DAY, f"INSERT OVERWRITE {{t}} PARTITION (day) {_ROWS}"),
    "several": (
        "",
        f"FROM {{s}} {_OTHER} SELECT * EXCEPT (id) INSERT INTO {{t}} SELECT order_id, item, at",
    ),
    "CTAS": ("none", f"CREATE TABLE {{t}} USING iceberg AS {_ROWS}"),
    "RTAS": ("", f"CREATE OR REPLACE TABLE {{t}} USING iceberg AS {_NAMED}"),
    "any schema": (
        "any",
        "INSERT INTO {t} SELECT order_id AS item, item AS order_id, date(at) AS day FROM {s}",
    ),
    "writeTo.append": ("", f"{_FRAME}.writeTo('{{t}}').append()"),
    "writeTo.overwrite": ("", f"{_FRAME}.writeTo('{{t}}').overwrite(F.lit(True))"),
    "writeTo.overwritePartitions": (_BY_DAY, f"{_FRAME}.writeTo('{{t}}').overwritePartitions()"),
    "writeTo.createOrReplace": ("", f"{_FRAME}.writeTo('{{t}}').createOrReplace()"),
    "writeTo of the JVM": ("", f"{_FRAME}._jdf.writeTo('{{t}}').append()"),
    "writeTo of some columns": ("", f"{_FRAME}.select('day').writeTo('{{t}}').append()"),
    "insertInto": ("", f"{_PLAIN}.write.insertInto('{{t}}')"),
    "insertInto, overwritten": ("", f"{_PLAIN}.write.insertInto('{{t}}', overwrite=True)"),
    "saveAsTable": ("", f"{_FRAME}.write.mode('append').saveAsTable('{{t}}')"),
    "saveAsTable, overwritten": (
        "",
        f"{_FRAME}.write.format('iceberg').mode('overwrite').saveAsTable('{{t}}')",
    ),
    "save": ("", f"{_FRAME}.write.format('iceberg').mode('append').save('{{t}}')"),
    "save to a path": ("", f"{_FRAME}.write.format('iceberg').mode('append').save('{{path}}')"),
    "sql of an application": (
        "",
        "spark.sql('INSERT INTO {t} SELECT order_id, :one, at FROM {s}', {{'one': '+'}})",
    ),
    "toTable": ("", f"{_STREAM}.toTable('{{t}}').awaitTermination()"),
    "foreachBatch": (
        "",
        f"{_STREAM}.foreachBatch({_INTO}).start().awaitTermination()",
    ),
}  # fmt: skip


class Writes(NamedTuple):
    """A table of orders, and one table for each order alone."""

    spark: SparkSession
    folder: Path

    def clear(self, partitions: str) -> None:
        """Make the table that is written anew."""
        self.spark.sql(f"DROP TABLE IF EXISTS {_OUT} PURGE")
        more = ", 'write.spark.accept-any-schema' = 'true'" if partitions == "any" else ""
        if partitions != "none":
            kept = "" if partitions == "any" else partitions
            v3 = _V3.format(more).replace("iceberg", f"iceberg {kept}")
            self.spark.sql(f"CREATE TABLE {_OUT} ({_COLUMNS}) {v3}")

    def text(self, text: str, source: str) -> str:
        path = self.folder / "warehouse" / "db" / "out"
        place = self.folder / f"place-{len([*self.folder.iterdir()])}"
        return text.format(t=_OUT, s=source, path=path, place=place)

    def written(self, partitions: str, text: str, id_: int) -> list[Row]:
        """What Spark writes of one order alone, in the session of the job."""
        self.clear(partitions)
        self.spark.conf.set(_ZONE, _JOB[_ZONE])
        text = self.text(text, f"{_ALL}{id_}")
        try:
            exec(_SESSION + text, {}) if text.startswith("spark") else self.spark.sql(text)
        finally:
            self.spark.conf.set(_ZONE, "UTC")
        return self.spark.table(_OUT).collect()

    def evaluated(self, text: str, settings: dict[str, str]) -> Evaluated:
        """The plan of the write of all orders."""
        text = self.text(text, _ALL)
        given = Given(sql=text)
        if text.startswith("spark"):
            app = self.folder / "app.py"
            app.write_text(_SESSION + text)
            given = Given(str(app))
        inputs = []
        for source in (_ALL, *(f"{_ALL}{id_}" for id_ in range(len(_ORDERS)))):
            table = IcebergTable(self.spark, source)
            inputs.append({"nodeId": str(table.node), "snapshot": table.current})
        write: dict[str, Any] = {"inputs": inputs, "settings": settings}
        (found,) = GivenPlan(self.spark, given).over(IcebergTable(self.spark, _OUT), write)
        return found


@pytest.fixture(scope="module")
def writes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writes]:
    folder = tmp_path_factory.mktemp("writes")
    prefix = "spark.sql.catalog.writes"
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(folder / "warehouse"))
    spark.conf.set(f"{prefix}.cache-enabled", "false")
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    rows = spark.createDataFrame(_ORDERS, "id int, order_id string, item string, at string")
    rows = rows.withColumn("at", rows["at"].cast("timestamp"))
    tables = {_ALL: rows, **{f"{_ALL}{n}": rows.where(f"id = {n}") for n in range(len(_ORDERS))}}
    for name, frame in tables.items():
        frame.coalesce(1).writeTo(name).using("iceberg").create()
    spark.sql(f"CREATE TABLE writes.db.other ({_COLUMNS}) USING iceberg")
    yield Writes(spark, folder)
    for name in (*tables, _OUT, "writes.db.other"):
        spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")


@pytest.mark.parametrize("way", _WRITES)
def test_the_exact_record_of_a_row_is_the_one_that_spark_wrote_it_of(
    writes: Writes, way: str
) -> None:
    """The oracle: Spark, which writes each order alone."""
    partitions, text = _WRITES[way]
    truth: dict[Row, set[int]] = {}
    for id_ in range(len(_ORDERS)):
        for row in writes.written(partitions, text, id_):
            truth.setdefault(row, set()).add(id_)
    columns = writes.spark.table(_OUT).schema
    found = writes.evaluated(text, _JOB)
    assert (found.doubts, found.missing) == ([], [])
    for row, ids in truth.items():
        derived = found.derivation.of(row, columns)
        answer = {one["id"] for rows in derived.rows.values() for one in rows}
        assert (derived.exact, answer) == (len(ids) == 1, ids), (row, derived.reason)


@pytest.mark.parametrize("way", ["INSERT", "INSERT with columns", "writeTo.append", "insertInto"])
def test_a_conversion_of_a_write_in_a_zone_that_is_not_known_is_doubted(
    writes: Writes, way: str
) -> None:
    partitions, text = _WRITES[way]
    writes.clear(partitions)
    assert any("time zone" in doubt for doubt in writes.evaluated(text, {}).doubts)


@pytest.mark.parametrize(
    ("query", "is_sure"),
    [("SELECT order_id AS item, item AS order_id, at AS day FROM {s}", True),
     ("SELECT order_id AS one, item AS two, at FROM {s}", True),
     (_NAMED, False)],
)  # fmt: skip
def test_a_query_alone_must_have_the_order_of_the_table(
    writes: Writes, query: str, *, is_sure: bool
) -> None:
    """It is not known whether its statement writes by name or by position."""
    (row,) = writes.written("", f"INSERT INTO {{t}} {query}", 0)
    found = writes.evaluated(query, _JOB)
    assert bool(found.doubts) is not is_sure
    if is_sure:
        derived = found.derivation.of(row, writes.spark.table(_OUT).schema)
        (rows,) = derived.rows.values()
        assert (derived.exact, [one["id"] for one in rows]) == (True, [0]), derived.reason
