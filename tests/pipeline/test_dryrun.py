"""Applications that run without their effects."""

from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from headwater.dryrun import Planned, StreamRead, run, run_application, run_sql
from headwater.errors import DryRunFailed
from headwater.trace import catalyst

APP = """
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("DROP TABLE IF EXISTS kept")
spark.sql("CREATE TABLE never (id INT) USING parquet")
words = spark.readStream.format("socket").option("host", "nowhere").option("Port", 9).load()


def write(batch, number):
    if not batch.isEmpty():
        batch.write.mode("append").saveAsTable("found")
        batch.write.format("json").option("path", sys.argv[1]).save()


query = words.writeStream.foreachBatch(write).queryName("words").start()
query.awaitTermination()
spark.streams.awaitAnyTermination()
words.writeStream.format("kafka").option("topic", "out").start()
spark.sql("CREATE OR REPLACE TEMP VIEW some AS SELECT 1 AS one")
spark.sql("INSERT INTO a.b.c SELECT one + 1 AS two FROM some")
spark.stop()
sys.exit(0)
"""


def test_an_application_writes_nothing_and_tells_what_it_would(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked: list[StreamRead] = []

    def stream(read: StreamRead) -> DataFrame:
        asked.append(read)
        return spark.createDataFrame([("a",), ("b",)], "value string")

    spark.range(1).write.mode("overwrite").option("path", str(tmp_path / "kept")).saveAsTable(
        "kept"
    )
    load, app, path = DataStreamReader.load, tmp_path / "app.py", tmp_path / "out"
    app.write_text(APP)
    found = run_application(spark, app, [str(path)], stream)
    assert asked == [StreamRead("socket", {"host": "nowhere", "port": "9"})]
    targets = [one.target.replace("`", "") for one in found]
    assert targets == ["found", str(path), "out", "a.b.c"]
    assert [row[0] for row in found[0].frame.collect()] == ["a", "b"]
    assert found[3].frame.collect()[0]["two"] == 2
    assert not path.exists()
    assert spark.table("kept").count() == 1
    assert not spark.catalog.tableExists("never")
    assert DataStreamReader.load is load
    spark.sql("DROP TABLE kept")


HELD = {
    "INSERT INTO kept SELECT 2": ["kept"],
    "INSERT INTO kept VALUES (2)": ["kept"],
    "INSERT INTO kept REPLACE WHERE id = 0 SELECT 2 AS id": ["kept"],
    "WITH some AS (SELECT 2 AS id) INSERT INTO kept SELECT * FROM some": ["kept"],
    "FROM range(2) INSERT INTO kept SELECT id INSERT INTO more SELECT id": ["kept", "more"],
    "INSERT OVERWRITE DIRECTORY '{path}' USING json SELECT 2 AS id": ["{path}"],
    "CREATE TABLE never USING parquet AS SELECT 2 AS id": ["never"],
    "CREATE TABLE never (id INT) USING parquet": [],
    "TRUNCATE TABLE kept": [],
    "DROP TABLE kept": [],
    "/* a query? */ DROP TABLE kept": [],
    "EXECUTE IMMEDIATE 'DROP TABLE kept'": [],
    "BEGIN DROP TABLE kept; END": [],
    "CALL catalog.system.expire_snapshots('kept')": [],
    "ALTER TABLE kept SET TBLPROPERTIES ('changed' = 'b')": [],
    "CREATE VIEW never AS SELECT 2 AS id": [],
}


def test_no_statement_changes_anything(spark: SparkSession, tmp_path: Path) -> None:
    path, app = tmp_path / "out", tmp_path / "app.py"
    for table in ("kept", "more"):
        spark.range(1).write.mode("overwrite").option("path", str(tmp_path / table)).saveAsTable(
            table
        )
    for statement, targets in HELD.items():
        text = statement.replace("{path}", str(path))
        app.write_text(
            "from pyspark.sql import SparkSession\n"
            f"SparkSession.builder.getOrCreate().sql({text!r})\n"
        )
        found = run_application(spark, app)
        told = [one.target.replace("`", "").removeprefix("file:") for one in found]
        assert told == [target.replace("{path}", str(path)) for target in targets], statement
        assert not path.exists(), statement
        assert not spark.catalog.tableExists("never"), statement
        assert spark.catalog.tableExists("kept"), statement
        properties = spark.sql("SHOW TBLPROPERTIES kept").collect()
        assert "changed" not in [row["key"] for row in properties], statement
    for table in ("kept", "more"):
        assert [row[0] for row in spark.table(table).collect()] == [0]
        spark.sql(f"DROP TABLE {table}")


def test_calls_with_effects_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.mode("overwrite").option("path", str(tmp_path / "kept")).saveAsTable(
        "kept"
    )
    app = tmp_path / "app.py"
    app.write_text(
        "import pathlib, sys\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "frame = spark.range(3)\n"
        "place = sys.argv[1]\n"
        "frame.foreach(lambda _row: pathlib.Path(place).touch())\n"
        "frame.foreachPartition(lambda _rows: pathlib.Path(place).touch())\n"
        "spark.catalog.createTable('never', schema=frame.schema)\n"
        "spark.sql('INSERT INTO kept SELECT id FROM {some}', some=frame)\n"
    )
    found = run_application(spark, app, [str(tmp_path / "out")])
    assert [one.target.replace("`", "") for one in found] == ["kept"]
    assert found[0].frame.count() == 3
    assert spark.table("kept").count() == 1
    assert not (tmp_path / "out").exists()
    assert not spark.catalog.tableExists("never")
    spark.sql("DROP TABLE kept")


PREPARED = """
import sys
from contextlib import redirect_stdout
from io import StringIO
from threading import Thread
from pyspark.ml.feature import Imputer
from pyspark.sql import SparkSession
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2
spark = SparkSession.builder.getOrCreate()
jvm, session, context = spark._jvm, spark._jsparkSession, spark.sparkContext
place, kept = sys.argv[1:]
frame = spark.range(2)
seen = context.accumulator(0)
fs = jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration())
path = jvm.org.apache.hadoop.fs.Path
"""
BY_JVM = {
    "frame._jdf.write().mode('append').saveAsTable('kept')": ["kept"],
    "frame._jdf.write().insertInto('kept')": ["kept"],
    "frame._jdf.write().format('json').save(place)": ["{path}"],
    "frame._jdf.write().json(place)": ["{path}"],
    "frame._jdf.writeTo('kept').append()": ["kept"],
    "DataFrameWriter(frame).mode('append').saveAsTable('kept')": ["kept"],
    "DataFrameWriterV2(frame, 'kept').append()": ["kept"],
    "session.sql('INSERT INTO kept SELECT 2')": ["kept"],
    "session.sql('DROP TABLE kept')": [],
    "session.newSession().sql('DROP TABLE kept')": [],
    "session.sqlContext().sql('DROP TABLE kept')": [],
    "jvm.org.apache.spark.sql.SparkSession.active().sql('DROP TABLE kept')": [],
    "session.catalog().createTable('never', place)": [],
    "catalog = session.sessionState().catalog(); name = session.sessionState().sqlParser()"
    ".parseTableIdentifier('kept'); catalog.dropTable(name, True, True)": [],
    "context.parallelize([1]).saveAsTextFile(place)": [],
    "context.parallelize([1]).saveAsPickleFile(place)": [],
    "context.parallelize([(1, 2)]).saveAsSequenceFile(place)": [],
    "frame._jdf.javaRDD().saveAsTextFile(place)": [],
    "frame._jdf.rdd().saveAsTextFile(place)": [],
    "frame._jdf.toJavaRDD().saveAsObjectFile(place)": [],
    "frame._jdf.foreachPartition(None)": [],
    "fs.delete(path(kept), True)": [],
    "fs.mkdirs(path(place))": [],
    "fs.create(path(place))": [],
    "jvm.java.io.File(place).mkdir()": [],
}


def test_no_call_into_the_jvm_changes_anything(spark: SparkSession, tmp_path: Path) -> None:
    path, app, kept = tmp_path / "out", tmp_path / "app.py", tmp_path / "kept"
    spark.range(1).write.mode("overwrite").option("path", str(kept)).saveAsTable("kept")
    for statement, targets in BY_JVM.items():
        app.write_text(f"{PREPARED}\n{statement}\n")
        found = run_application(spark, app, [str(path), str(kept)])
        told = [one.target.replace("`", "") for one in found]
        assert told == [target.replace("{path}", str(path)) for target in targets], statement
        assert not path.exists(), statement
        assert not spark.catalog.tableExists("never"), statement
        assert [row[0] for row in spark.table("kept").collect()] == [0], statement
        assert all(one.doubts == () for one in found), statement
    spark.sql("DROP TABLE kept")


@pytest.mark.parametrize(
    "statement",
    ["frame.collect()", "frame.count()", "frame.toPandas()", "frame.first()", "frame.tail(1)",
     "frame.rdd.collect()", "frame.rdd.count()", "[*frame.toLocalIterator()]", "frame.isEmpty()",
     "frame._jdf.count()", "frame._jdf.collectAsList()", "frame._jdf.javaRDD().take(1)",
     "frame = spark.createDataFrame(frame.rdd)", "frame.approxQuantile('id', [0.5], 0.0)",
     "frame.stat.cov('id', 'id')", "frame.crosstab('id', 'id')",
     "frame.groupBy('id').pivot('id')", "frame._jdf.localCheckpoint()", "seen.value",
     "Imputer(inputCols=['id'], outputCols=['x']).fit(frame.selectExpr('double(id) id'))",
     "spark.read.json(frame.toJSON())", "spark.read.csv(frame.rdd.map(str))",
     "session.read().json(frame._jdf.toJSON())",
     "plan = frame._jdf.queryExecution().executedPlan(); plan.executeCollect()",
     "with redirect_stdout(StringIO()): frame.show()",
     "Thread(target=lambda: frame.approxQuantile('id', [0.5], 0.0)).run()",
     "spark.createDataFrame([(1,)], 'id int'); frame.describe().stat.crosstab('id', 'id')",
     "jvm.com.fasterxml.jackson.core.JsonFactory()",
     "jvm.net.jpountz.lz4.LZ4Factory.fastestInstance()"],
)  # fmt: skip
def test_what_an_application_may_know_beside_its_plan_is_noted(
    spark: SparkSession, tmp_path: Path, statement: str
) -> None:
    app = tmp_path / "app.py"
    app.write_text(f"{PREPARED}\n{statement}\nframe.writeTo('one').append()\n")
    (planned,) = run_application(spark, app, [str(tmp_path / "out"), str(tmp_path)])
    assert planned.doubts


@pytest.mark.parametrize(
    "statement",
    ["spark.read.json(place)", "spark.read.option('inferSchema', True).csv(place)",
     "spark.read.format('json').load(place)", "spark.read.json([place, place])",
     "spark.sql(f'SELECT * FROM json.`{place}`')", "frame.show()", "frame.printSchema()",
     "frame.explain(True)", "frame.createOrReplaceTempView('ids'); spark.sql('CACHE TABLE ids')",
     "spark.catalog.tableExists('ids')", "spark.createDataFrame([(1,)], 'id int')",
     "frame.repartitionByRange(2, 'id').cache().schema", "frame.describe().columns"],
)  # fmt: skip
def test_what_tells_an_application_nothing_of_rows_is_not_doubted(
    spark: SparkSession, tmp_path: Path, statement: str
) -> None:
    app, place = tmp_path / "app.py", tmp_path / "json"
    spark.range(2).write.json(str(place))
    app.write_text(f"{PREPARED}\n{statement}\nframe.writeTo('one').append()\n")
    (planned,) = run_application(spark, app, [str(place), str(tmp_path)])
    assert planned.doubts == ()


def test_only_rows_that_an_application_makes_itself_are_constant(
    spark: SparkSession, tmp_path: Path
) -> None:
    app = tmp_path / "app.py"
    for text, is_constant in (
        ("frame = spark.createDataFrame([(1,)], 'id int')", True),
        ("import pandas\nframe = spark.createDataFrame(pandas.DataFrame({'id': [1]}))", True),
        ("frame = spark.read.json(frame.toJSON())", False),
        ("frame = spark.read.schema('id int').csv(frame.rdd.map(str))", False),
        ("frame = spark.createDataFrame(frame.rdd)", False),
    ):
        app.write_text(f"{PREPARED}\n{text}\nframe.writeTo('one').append()\n")
        (planned,) = run_application(spark, app, [str(tmp_path / "out"), str(tmp_path)])
        (leaf,) = catalyst.walk(catalyst.analyzed(planned.frame))
        assert (leaf.rdd().id() in planned.constants) == is_constant, text


def test_queries_are_doubted_as_writes_are(spark: SparkSession) -> None:
    text = "DECLARE OR REPLACE VARIABLE lo INT; SET VAR lo = (SELECT 1); SELECT lo"
    assert any("looked at rows" in doubt for doubt in run_sql(spark, text)[-1].doubts)


_WRITES = """
import threading
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()


def write(number):
    spark.range(number).writeTo("one").append()
"""


def _wanted(spark: SparkSession, app: Path, text: str) -> list[Planned]:
    app.write_text(f"{_WRITES}\n{text}\n")
    found = run_application(spark, app, wanted=lambda planned: planned.target.strip("`") == "one")
    assert {one.target.strip("`") for one in found} == {"one"}
    return found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("write(3)\nspark.range(3).count()\nwrite(4)", 2),
        ("write(3)\ntime.sleep(10_000)\nwrite(4)", 2),
        ("write(3)\nthreading.Event().wait()\nwrite(4)", 2),
        ("while True:\n    write(3)\n    time.sleep(10_000)", 3),
        ("write(3)\ntry:\n    raise ValueError\nexcept Exception:\n    write(4)", 2),
    ],
)
def test_all_writes_into_a_table_are_found(
    spark: SparkSession, tmp_path: Path, text: str, count: int
) -> None:
    found = _wanted(spark, tmp_path / "app.py", text)
    assert (len(found), {one.doubts for one in found[:1]}) == (count, {()})


def test_an_application_that_is_not_seen_to_its_end_may_write_more(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = tmp_path / "app.py"
    for text in ("write(3)\nraise ValueError('too far')", "write(3)\nraise SystemExit(2)"):
        (found,) = _wanted(spark, app, text)
        assert "may write the table again" in found.doubts[-1]
    app.write_text("raise ValueError('too far')")
    with pytest.raises(DryRunFailed, match="ValueError: too far"):
        run_application(spark, app)
    monkeypatch.setattr(run, "_LONGEST", 0.5)
    loop = "    try:\n        spark.range(1)\n    except Exception:\n        pass"
    (found,) = _wanted(spark, app, f"write(3)\nwhile True:\n{loop}")
    assert "still running" in found.doubts[-1]


@pytest.mark.parametrize(
    ("condition", "args"),
    [
        ("id > :low AND id < :high", "{'low': 2, 'high': 5}"),
        ("id > ? AND id < ?", "[2, 5]"),
        ("id > :low AND id < :high", "{'high': F.lit(5), 'low': F.lit(2), 'more': 'x'}"),
        ("array_contains(:ids, id)", "{'ids': F.array(F.lit(3), F.lit(4))}"),
    ],
)
def test_writes_have_the_values_of_their_parameters(
    spark: SparkSession, tmp_path: Path, condition: str, args: str
) -> None:
    text = f"INSERT INTO one SELECT id FROM range(10) WHERE {condition}"
    calls = [f'spark.sql("{start}{text}", args={args})' for start in ("", "WITH y AS (SELECT 1) ")]
    imports = "from pyspark.sql import functions as F\n"
    found = _wanted(spark, tmp_path / "app.py", imports + "\n".join(calls))
    assert [[row[0] for row in one.frame.collect()] for one in found] == [[3, 4], [3, 4]]


@pytest.mark.parametrize(
    "text",
    [
        "MERGE INTO x USING (SELECT 1 AS a) s ON false WHEN NOT MATCHED THEN INSERT *",
        "UPDATE x SET a = 1",
        "EXECUTE IMMEDIATE 'INSERT INTO x SELECT 1'",
        "BEGIN INSERT INTO x SELECT 1; END",
        "CALL c.system.add_files('x', '`parquet`.`y`')",
    ],
)
def test_what_is_not_executed_may_have_written_rows(spark: SparkSession, text: str) -> None:
    insert = "INSERT INTO x SELECT 1 AS a"
    for texts in ((text, insert), (insert, text)):
        with suppress(DryRunFailed):  # a script has semicolons of its own
            planned = run_sql(spark, ";".join(texts))
            assert all(any("not executed" in doubt for doubt in one.doubts) for one in planned)


def test_merged_frames_are_no_rows_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    merge = "spark.range(1).mergeInto('one', F.expr('false')).whenNotMatched().insertAll().merge()"
    imports = "from pyspark.sql import functions as F\n"
    for texts in ((merge, "write(3)"), ("write(3)", merge)):
        (found,) = _wanted(spark, tmp_path / "app.py", imports + "\n".join(texts))
        assert any("mergeInto('one')" in doubt for doubt in found.doubts)


def test_values_that_variables_took_from_rows_are_doubted(spark: SparkSession) -> None:
    text = "DECLARE OR REPLACE VARIABLE lo INT; SET VAR lo = (SELECT 1); INSERT INTO x SELECT lo"
    (found,) = run_sql(spark, text)
    assert any("looked at rows" in doubt for doubt in found.doubts)


def test_statements_are_told_apart_by_their_ends_outside_of_texts(spark: SparkSession) -> None:
    text = "-- a; comment\nINSERT INTO x SELECT ';' AS a; /* ; */ SELECT 'it''s; \\'one\\'' AS b;\n"
    found = run_sql(spark, text)
    assert [(one.target, one.frame.columns) for one in found] == [("`x`", ["a"]), ("", ["b"])]
    with pytest.raises(DryRunFailed, match="the SQL text"):
        run_sql(spark, "SELEC 1")
