"""The kinds of work that the shared session can do, each with the words that docs/kinds.md has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

COLUMNS = "(id INT, v STRING)"


class Out(NamedTuple):
    """Where a kind writes: one of these, which all have the same name."""

    name: str
    home: Path

    @property
    def folder(self) -> str:
        return str(self.home / self.name)

    @property
    def ice(self) -> str:
        return f"ice.kinds.{self.name}"


Act = Callable[[SparkSession, Out], object]
KINDS: dict[str, Act] = {}


def kind(words: str) -> Callable[[Act], Act]:
    def keep(act: Act) -> Act:
        KINDS[words] = act
        return act

    return keep


def prepare(spark: SparkSession) -> None:
    """The tables that are read; `b` is Iceberg's."""
    spark.sql(f"CREATE TABLE kinds_a {COLUMNS} USING parquet")
    spark.sql("INSERT INTO kinds_a VALUES (1, 'x'), (2, 'y')")
    spark.sql("CREATE VIEW kinds_view AS SELECT id, upper(v) AS v FROM kinds_a")
    spark.sql(f"CREATE TABLE ice.kinds.b {COLUMNS} USING iceberg")
    spark.sql("INSERT INTO ice.kinds.b VALUES (1, 'z')")


def statement(words: str, *texts: str) -> None:
    """A kind that is SQL alone: the last of these statements, after others that prepare it."""

    def act(spark: SparkSession, out: Out) -> None:
        for text in texts:
            spark.sql(text.format(out=out.name, ice=out.ice, folder=out.folder))

    kind(words)(act)


_SPARK = f"CREATE TABLE {{out}} {COLUMNS} USING parquet"
_ICE = f"CREATE TABLE {{ice}} {COLUMNS} USING iceberg"
_MERGE = (
    "MERGE INTO {ice} t USING kinds_a s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
    " WHEN NOT MATCHED THEN INSERT *"
)

statement("SQL: `INSERT INTO`", _SPARK, "INSERT INTO {out} SELECT * FROM kinds_a")
statement("SQL: `INSERT INTO … VALUES`", _SPARK, "INSERT INTO {out} VALUES (1, 'x')")
statement("SQL: `INSERT OVERWRITE`", _SPARK, "INSERT OVERWRITE {out} SELECT * FROM kinds_a")
statement(
    "SQL: `CREATE TABLE … AS SELECT`", "CREATE TABLE {out} USING parquet AS SELECT * FROM kinds_a"
)
statement(
    "SQL: `INSERT OVERWRITE DIRECTORY`",
    "INSERT OVERWRITE DIRECTORY '{folder}' USING parquet SELECT * FROM kinds_a",
)
statement(
    "SQL: `INSERT OVERWRITE LOCAL DIRECTORY`",
    "INSERT OVERWRITE LOCAL DIRECTORY '{folder}' USING parquet SELECT * FROM kinds_a",
)
statement("SQL: through a view", _SPARK, "INSERT INTO {out} SELECT * FROM kinds_view")
statement(
    "SQL: through a common table expression",
    _SPARK,
    "WITH w AS (SELECT id + 1 AS id, v FROM kinds_a) INSERT INTO {out} SELECT * FROM w",
)
statement("Iceberg: `INSERT INTO`", _ICE, "INSERT INTO {ice} SELECT * FROM kinds_a")
statement("Iceberg: `INSERT OVERWRITE`", _ICE, "INSERT OVERWRITE {ice} SELECT * FROM kinds_a")
statement(
    "Iceberg: `CREATE TABLE … AS SELECT`",
    "CREATE TABLE {ice} USING iceberg AS SELECT * FROM kinds_a",
)
statement(
    "Iceberg: `CREATE OR REPLACE TABLE … AS SELECT`",
    "CREATE OR REPLACE TABLE {ice} USING iceberg AS SELECT * FROM kinds_a",
)

for _mode in ("copy-on-write", "merge-on-read"):
    _modes = (f"'write.{_change}.mode' = '{_mode}'" for _change in ("update", "delete", "merge"))
    _made = f"{_ICE} TBLPROPERTIES ({', '.join(_modes)})"
    statement(f"Iceberg, {_mode}: `MERGE`", _made, _MERGE)
    statement(f"Iceberg, {_mode}: `UPDATE`", _made, "UPDATE {ice} SET v = upper(v) WHERE id = 1")
    statement(f"Iceberg, {_mode}: `DELETE`", _made, "DELETE FROM {ice} WHERE v LIKE '%z%'")
statement("Iceberg: `DELETE` by its metadata alone", _ICE, "DELETE FROM {ice} WHERE id = 1")


@kind("`df.write` to files")
def files(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").write.parquet(out.folder)


@kind("`df.write.saveAsTable`")
def save_as_table(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").write.saveAsTable(out.name)


@kind("`df.write.insertInto`")
def insert_into(spark: SparkSession, out: Out) -> None:
    spark.sql(_SPARK.format(out=out.name))
    spark.table("kinds_a").write.insertInto(out.name)


@kind("`df.writeTo(…).create()`")
def create(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").writeTo(out.ice).using("iceberg").create()


@kind("`df.writeTo(…).append()`")
def append(spark: SparkSession, out: Out) -> None:
    spark.sql(_ICE.format(ice=out.ice))
    spark.table("kinds_a").writeTo(out.ice).append()


@kind("`df.writeTo(…).overwritePartitions()`")
def overwrite_partitions(spark: SparkSession, out: Out) -> None:
    spark.sql(_ICE.format(ice=out.ice))
    spark.table("kinds_a").writeTo(out.ice).overwritePartitions()


@kind("`df.write.jdbc`")
def jdbc(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").write.jdbc(f"jdbc:derby:{out.home}/db;create=true", out.name)


@kind("Through a temporary view")
def temporary_view(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").createOrReplaceTempView("kinds_passing")
    spark.table("kinds_passing").write.parquet(out.folder)


@kind("A Python function")
def python_function(spark: SparkSession, out: Out) -> None:
    shout = F.udf(lambda number, text: f"{number}{text}", "string")
    spark.table("kinds_a").select("id", shout("id", "v").alias("v")).write.parquet(out.folder)


@kind("A write that fails")
def failing(spark: SparkSession, out: Out) -> None:
    broken = spark.table("kinds_a").selectExpr("id", "raise_error(v) AS v")
    with pytest.raises(PySparkException):
        broken.write.parquet(out.folder)


@kind("A write that cannot be planned")
def unplanned(spark: SparkSession, out: Out) -> None:
    last = spark.table("ice.kinds.b.snapshots").first()
    assert last is not None
    since = spark.read.format("iceberg").option("start-snapshot-id", last["snapshot_id"])
    with pytest.raises(PySparkException):
        since.load("ice.kinds.b").write.parquet(out.folder)


@kind("SQL: `CREATE TABLE … AS SELECT` that fails")
def failing_table(spark: SparkSession, out: Out) -> None:
    with pytest.raises(PySparkException):
        spark.sql(
            f"CREATE TABLE {out.name} USING parquet AS SELECT raise_error(v) AS v FROM kinds_a"
        )


@kind("`rdd.saveAsTextFile` into folders of days (`out/dt=…`)")
def days_of_text(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").rdd.map(str).saveAsTextFile(f"{out.folder}/dt=2026-01-01")


@kind("Iceberg: a metadata table (`t.snapshots`)")
def metadata_table(spark: SparkSession, out: Out) -> None:
    spark.table("ice.kinds.b.snapshots").select("snapshot_id").write.parquet(out.folder)


@kind("A write right after one that failed")
def after_a_failure(spark: SparkSession, out: Out) -> None:
    failing(spark, Out(f"{out.name}_not", out.home))
    files(spark, out)


@kind("`newSession()`")
def new_session(spark: SparkSession, out: Out) -> None:
    files(spark.newSession(), out)


@kind("`SparkSession(sc)`")
def session_of_a_context(spark: SparkSession, out: Out) -> None:
    files(SparkSession(spark.sparkContext), out)


@kind("`cache()`")
def cached(spark: SparkSession, out: Out) -> None:
    frame = spark.table("kinds_a").cache()
    frame.write.parquet(out.folder)
    frame.unpersist()


@kind("`localCheckpoint()`")
def checkpoint_at_once(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").localCheckpoint().write.parquet(out.folder)


@kind("`localCheckpoint(eager=False)`")
def checkpoint_later(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").localCheckpoint(eager=False).write.parquet(out.folder)


@kind("`checkpoint()`")
def checkpoint_in_files(spark: SparkSession, out: Out) -> None:
    spark.sparkContext.setCheckpointDir(str(out.home / "checkpoints"))
    spark.table("kinds_a").checkpoint().write.parquet(out.folder)


@kind("A checkpoint of a checkpoint")
def checkpoint_of_a_checkpoint(spark: SparkSession, out: Out) -> None:
    once = spark.table("kinds_a").localCheckpoint().selectExpr("id", "upper(v) AS v")
    once.localCheckpoint().write.parquet(out.folder)


@kind("`createDataFrame(df.rdd…)`")
def by_rdd(spark: SparkSession, out: Out) -> None:
    spark.createDataFrame(spark.table("kinds_a").rdd.map(lambda row: row)).write.parquet(out.folder)


@kind("`createDataFrame(df.toPandas())`")
def by_pandas(spark: SparkSession, out: Out) -> None:
    frame: Any = spark.table("kinds_a").toPandas()
    spark.createDataFrame(frame[frame["id"] > 1]).write.parquet(out.folder)


def _words(out: Out) -> str:
    """A folder of text files."""
    (out.home / "words").mkdir()
    (out.home / "words" / "a.txt").write_text("1,b\n2,c\n")
    return str(out.home / "words")


@kind("`sc.textFile(…).toDF()`")
def text_files(spark: SparkSession, out: Out) -> None:
    lines = spark.sparkContext.textFile(_words(out)).map(lambda line: line.split(","))
    lines.toDF(["id", "v"]).write.parquet(out.folder)


@kind("`sc.wholeTextFiles(…).toDF()`")
def whole_text_files(spark: SparkSession, out: Out) -> None:
    spark.sparkContext.wholeTextFiles(_words(out)).toDF(["id", "v"]).write.parquet(out.folder)


@kind("`sc.binaryFiles(…).toDF()`")
def binary_files(spark: SparkSession, out: Out) -> None:
    spark.sparkContext.binaryFiles(_words(out)).toDF(["id", "v"]).write.parquet(out.folder)


@kind("`sc.sequenceFile(…).toDF()`")
def sequence_files(spark: SparkSession, out: Out) -> None:
    place = str(out.home / "words")
    spark.sparkContext.parallelize([(1, "b")]).saveAsSequenceFile(place)
    spark.sparkContext.sequenceFile(place).toDF(["id", "v"]).write.parquet(out.folder)


@kind("`sc.pickleFile(…).toDF()`")
def pickle_files(spark: SparkSession, out: Out) -> None:
    place = str(out.home / "words")
    spark.sparkContext.parallelize([(1, "b")]).saveAsPickleFile(place)
    spark.sparkContext.pickleFile(place).toDF(["id", "v"]).write.parquet(out.folder)


@kind("`spark.read.csv(sc.textFile(…))`")
def lines_as_csv(spark: SparkSession, out: Out) -> None:
    lines: Any = spark.sparkContext.textFile(_words(out))
    spark.read.csv(lines, "id INT, v STRING").write.parquet(out.folder)


@kind("`sc.textFile(…).toDF()` joined with a table")
def text_files_and_a_table(spark: SparkSession, out: Out) -> None:
    lines = spark.sparkContext.textFile(_words(out)).map(lambda line: (int(line[0]), line))
    joined = lines.toDF("id INT, line STRING").join(spark.table("kinds_a"), "id")
    joined.select("id", "v").write.parquet(out.folder)


@kind("pandas API on Spark")
def by_pandas_api(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").pandas_api().to_parquet(out.folder)


@kind("`rdd.saveAsTextFile` of a frame's rows")
def rows_as_text(spark: SparkSession, out: Out) -> None:
    spark.table("kinds_a").rdd.map(str).saveAsTextFile(out.folder)


@kind("`rdd.saveAsPickleFile` of text files and a frame")
def rows_and_lines(spark: SparkSession, out: Out) -> None:
    (out.home / "words").mkdir()
    (out.home / "words" / "a.txt").write_text("a b\nc\n")
    lines = spark.sparkContext.textFile(str(out.home / "words"))
    counts = lines.map(lambda line: (line, 1)).reduceByKey(lambda a, b: a + b)
    spark.table("kinds_a").rdd.map(str).union(counts.map(str)).saveAsPickleFile(out.folder)


@kind("An RDD that cannot be written")
def broken_rdd(spark: SparkSession, out: Out) -> None:
    def burst(_: int) -> str:
        raise ValueError("no such thing")

    with pytest.raises(Exception, match="no such thing"):
        spark.sparkContext.parallelize([1]).map(burst).saveAsTextFile(out.folder)


def _stream(spark: SparkSession, out: Out) -> Any:
    writer = spark.readStream.table("kinds_a").writeStream.queryName(out.name)
    writer = writer.option("checkpointLocation", f"{out.home}/checkpoint")
    return writer.trigger(availableNow=True)


@kind("Streaming query to files")
def stream_to_files(spark: SparkSession, out: Out) -> None:
    _stream(spark, out).format("parquet").start(out.folder).awaitTermination()


@kind("Streaming query to an Iceberg table")
def stream_to_a_table(spark: SparkSession, out: Out) -> None:
    spark.sql(_ICE.format(ice=out.ice))
    _stream(spark, out).toTable(out.ice).awaitTermination()


@kind("Streaming query with `foreachBatch`")
def stream_by_function(spark: SparkSession, out: Out) -> None:
    def write(batch: DataFrame, _: int) -> None:
        batch.write.mode("append").parquet(out.folder)

    _stream(spark, out).foreachBatch(write).start().awaitTermination()


@kind("Streaming query joined with a checkpointed frame")
def stream_and_checkpoint(spark: SparkSession, out: Out) -> None:
    known = spark.table("ice.kinds.b").filter("id > 0").localCheckpoint()
    arriving = spark.readStream.table("kinds_a").join(known, "id")
    writer = arriving.select("id", known.v).writeStream.queryName(out.name)
    writer = writer.option("checkpointLocation", f"{out.home}/checkpoint")
    query = writer.trigger(availableNow=True).format("parquet").start(out.folder)
    query.awaitTermination()


Write = Callable[[DataFrame, SparkSession, str], object]
_BATCH_WRITES: dict[str, Write] = {
    "a checkpoint": lambda batch, _, place: (
        batch.filter("id > 0").localCheckpoint().write.mode("append").parquet(place)
    ),
    "`createDataFrame(df.toPandas())`": lambda batch, spark, place: (
        spark.createDataFrame(batch.toPandas()).write.mode("append").parquet(place)
    ),
    "`createDataFrame(df.rdd…)`": lambda batch, spark, place: (
        spark.createDataFrame(batch.rdd.map(lambda row: row), batch.schema)
        .write.mode("append")
        .parquet(place)
    ),
    "`rdd.saveAsTextFile`": lambda batch, _, place: batch.rdd.map(str).saveAsTextFile(place),
    "a join with itself": lambda batch, _, place: (
        batch.alias("a")
        .join(batch.alias("b"), "id")
        .selectExpr("id", "b.v")
        .write.mode("append")
        .parquet(place)
    ),
}


def _batch_write(words: str, write: Write) -> None:
    def act(spark: SparkSession, out: Out) -> None:
        _stream(spark, out).foreachBatch(
            lambda batch, _: write(batch, batch.sparkSession, out.folder)
        ).start().awaitTermination()

    kind(f"Streaming query with `foreachBatch`: {words}")(act)


for _way, _write in _BATCH_WRITES.items():
    _batch_write(_way, _write)
