"""What is reported of a table that is read: its name and schema, whatever state or part of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater
from capture.kinds import runs
from capture.receiver import Receiver

Event = dict[str, Any]
Read = Callable[[DataFrame], Event]
T = "ice.reads.t"
METADATA = (
    "history",
    "snapshots",
    "refs",
    "files",
    "entries",
    "manifests",
    "partitions",
    "all_data_files",
    "position_deletes",
    "metadata_log_entries",
    "changes",
)


@pytest.fixture(scope="module")
def captured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    receiver = Receiver()
    for table, kind in ((T, "iceberg"), ("reads_files", "parquet")):
        spark.sql(f"CREATE TABLE {table} (id INT, v STRING) USING {kind}")
    for rows in ("(1, 'x')", "(2, 'y')"):
        spark.sql(f"INSERT INTO {T} VALUES {rows}")
    spark.sql("INSERT INTO reads_files VALUES (1, 'x')")
    spool = str(tmp_path_factory.mktemp("spool"))
    capture = headwater.attach(spark, url=receiver.url, namespace="reads", spool_dir=spool)
    yield receiver
    capture.detach()
    receiver.close()
    for table in (T, "reads_files"):
        spark.sql(f"DROP TABLE {table}")


@pytest.fixture
def read(captured: Receiver, tmp_path: Path) -> Read:
    """Writes a frame into a folder, and gives the last event of that."""

    def write(frame: DataFrame) -> Event:
        out = f"{tmp_path}/out_{len(list(tmp_path.iterdir()))}"
        frame.write.parquet(out)
        captured.wait_for(lambda _: runs([*captured.events], out))
        (run,) = runs([*captured.events], out)
        return run[-1]

    return write


@pytest.fixture
def table(spark: SparkSession, read: Read) -> Event:
    """The Iceberg table as a plain read of it reports it."""
    found: list[Event] = read(spark.table(T))["inputs"]
    assert [fields(one) for one in found] == [{"id", "v"}]
    return found[0]


def fields(dataset: Event) -> set[str]:
    return {one["name"] for one in dataset["facets"].get("schema", {"fields": []})["fields"]}


def origins(event: Event) -> set[tuple[str, str]]:
    """Every field that the columns come from."""
    listed = [
        one
        for output in event["outputs"]
        for column in output["facets"].get("columnLineage", {"fields": {}})["fields"].values()
        for one in column["inputFields"]
    ]
    return {(one["name"], one["field"]) for one in listed}


def snapshots(spark: SparkSession) -> list[int]:
    rows = spark.table(f"{T}.snapshots").orderBy("committed_at").collect()
    return [row["snapshot_id"] for row in rows]


def is_the_table(found: Event, table: Event) -> bool:
    """Whether an input says nothing of a table that is not so."""
    same = (found["name"], found["facets"]["symlinks"]) == (
        table["name"],
        table["facets"]["symlinks"],
    )
    return same and fields(found) <= fields(table)


@pytest.mark.parametrize("pattern", ["*", "dt=*", "dt=2026-01-0[12]", "{dt=2026-01-01,x}", "*/*"])
def test_a_stream_of_a_pattern_reads_the_folder(
    captured: Receiver, spark: SparkSession, tmp_path: Path, pattern: str
) -> None:
    spark.table(T).write.parquet(f"{tmp_path}/raw/dt=2026-01-01")
    stream = spark.readStream.schema("id INT").parquet(f"{tmp_path}/raw/{pattern}").writeStream
    stream = stream.option("checkpointLocation", f"{tmp_path}/checkpoint").queryName(tmp_path.name)
    stream.trigger(availableNow=True).start(f"{tmp_path}/out").awaitTermination()
    captured.wait_for(lambda _: runs([*captured.events], f"{tmp_path}/out"))
    (run,) = runs([*captured.events], f"{tmp_path}/out")
    assert [one["name"] for one in run[-1]["inputs"]] == [f"{tmp_path}/raw"]


@pytest.mark.parametrize("name", METADATA)
def test_metadata_of_a_table_leaves_its_name_and_schema(
    spark: SparkSession, read: Read, table: Event, name: str
) -> None:
    event = read(spark.table(f"{T}.{name}"))
    (found,) = event["inputs"]
    assert is_the_table(found, table), found
    assert {field for _, field in origins(event)} <= fields(table)


def test_metadata_of_a_table_by_its_place(spark: SparkSession, read: Read, table: Event) -> None:
    event = read(spark.read.format("iceberg").load(f"{table['name']}#snapshots"))
    (found,) = event["inputs"]
    assert found["name"] == table["name"]
    assert not fields(found)
    assert not origins(event)


def test_rows_of_a_table_beside_its_metadata(spark: SparkSession, read: Read, table: Event) -> None:
    rows, files = spark.table(T), spark.table(f"{T}.files").selectExpr("record_count AS n")
    for frame in (rows.crossJoin(files), files.crossJoin(rows)):
        event = read(frame)
        (found,) = event["inputs"]
        assert is_the_table(found, table)
        assert fields(found) == {"id", "v"}
        assert origins(event) == {(table["name"], "id"), (table["name"], "v")}


@pytest.mark.parametrize(
    ("name", "hidden"),
    [(T, "_file"), (T, "_pos"), ("reads_files", "_metadata.file_path")],
)
def test_hidden_columns_are_no_part_of_the_schema(
    spark: SparkSession, read: Read, name: str, hidden: str
) -> None:
    (found,) = read(spark.table(name).selectExpr("id", f"{hidden} AS place"))["inputs"]
    assert fields(found) == {"id", "v"}


def test_the_latest_of_several_versions_is_reported(
    spark: SparkSession, read: Read, table: Event
) -> None:
    first, last = snapshots(spark)
    then = spark.sql(f"SELECT id FROM {T} VERSION AS OF {first}")
    now = spark.table(T).selectExpr("id AS now")
    for frame, version in (
        (then, first),
        (then.join(now, then.id == now.now), last),
        (now.join(then, then.id == now.now), last),
        (then.union(now), last),
        (then.filter("id IN (SELECT id FROM ice.reads.t)"), last),
        (then.localCheckpoint().union(now), last),
    ):
        (found,) = read(frame)["inputs"]
        assert found["facets"]["version"]["datasetVersion"] == str(version)
        assert is_the_table(found, table)


def test_a_part_of_a_state_has_no_version(spark: SparkSession, read: Read, table: Event) -> None:
    """What was added between two snapshots is none of them, whatever is read besides."""
    first, last = snapshots(spark)
    begun = [row[0] for row in spark.sql(f"SELECT committed_at FROM {T}.snapshots").collect()]
    since = {"start-timestamp": str(int(min(begun).timestamp() * 1000))}
    for options in (
        {"start-snapshot-id": str(first)},
        {"START-SNAPSHOT-ID": str(first), "end-snapshot-id": str(last)},
        since,
    ):
        parts = [
            spark.read.format("iceberg").options(**options).load(T),
            spark.read.options(**options).table(T),
        ]
        for part in (*parts, spark.table(f"{T}.changes")):
            old = spark.sql(f"SELECT id AS now FROM {T} VERSION AS OF {first}")
            for frame in (part, part.select("id").union(old), old.union(part.select("id"))):
                (found,) = read(frame)["inputs"]
                assert "version" not in found["facets"]
                assert is_the_table(found, table)
    (found,) = read(spark.sql(f"SELECT * FROM {T} WITH (`start-snapshot-id` = {first})"))["inputs"]
    assert "version" not in found["facets"]


@pytest.mark.parametrize("then", ["nothing", "refresh", "expire", "expire and read"])
def test_no_other_snapshot_is_told_than_the_one_that_was_read(
    spark: SparkSession, captured: Receiver, tmp_path: Path, then: str
) -> None:
    """Spark may use the rows it has, or read the table again in another state than was analyzed."""
    spark.sql("CREATE TABLE ice.reads.cached AS SELECT 1 AS id")
    cached = spark.table("ice.reads.cached").where("id > 0").cache()
    try:
        cached.count()
        early = spark.table("ice.reads.cached").where("id >= 0")
        early.count()
        _append_behind_the_catalog(spark, "ice.reads.cached")
        if then == "refresh":
            spark.sql("REFRESH TABLE ice.reads.cached")
        if "expire" in then:
            _expire(spark, "ice", "reads", "cached")
        if "read" in then:
            spark.sql("CREATE TABLE ice.reads.other AS SELECT * FROM ice.reads.cached").collect()
            spark.sql("DROP TABLE ice.reads.other")
        plain = spark.table("ice.reads.cached").where("id >= 0")
        counted = early.groupBy().count()  # answered from metadata
        places = [f"{tmp_path}/{name}" for name in ("cached", "early", "plain", "counted")]
        for frame, place in zip((cached, early, plain, counted), places, strict=True):
            frame.write.parquet(place)
        captured.wait_for(lambda _: all(runs([*captured.events], place) for place in places))
        ends = [runs([*captured.events], place)[0][-1] for place in places]
        of_rows = _snapshots_by_rows(spark, "ice.reads.cached")
        written = [spark.read.parquet(one) for one in places]
        truth = [of_rows[one.count()] for one in written[:-1]]
        truth.append(of_rows[written[-1].collect()[0]["count"]])
        facets = [one["inputs"][0]["facets"].get("version", {}) for one in ends]
        told = [facet.get("datasetVersion") for facet in facets]
        assert told[0] in (None, truth[0])
        assert told[1:] == truth[1:]
    finally:
        cached.unpersist()
        spark.sql("DROP TABLE ice.reads.cached")


def _snapshots_by_rows(spark: SparkSession, name: str) -> dict[int, str]:
    rows = spark.table(f"{name}.snapshots").collect()
    return {int(row["summary"]["total-records"]): str(row["snapshot_id"]) for row in rows}


def _expire(spark: SparkSession, catalog: str, *name: str) -> None:
    """Let the catalog load a table again, as it does after a while."""
    jvm: Any = spark._jvm
    gateway: Any = spark._sc._gateway
    namespace = gateway.new_array(jvm.String, len(name) - 1)
    for number, part in enumerate(name[:-1]):
        namespace[number] = part
    found = spark._jsparkSession.sessionState().catalogManager().catalog(catalog)
    identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(namespace, name[-1])
    found.invalidateTable(identifier)


def _append_behind_the_catalog(spark: SparkSession, name: str) -> None:
    """Commit to a table as another process does: this session's cached rows stay."""
    jvm: Any = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    tables = jvm.org.apache.iceberg.hadoop.HadoopTables(
        spark._jsparkSession.sessionState().newHadoopConf()
    )
    other = tables.load(table.location())
    files = other.newScan().planFiles()
    added = other.newAppend().appendFile(files.iterator().next().file())
    files.close()
    added.commit()
