"""A session under capture: runs, datasets and columns of streams and batch writes."""

import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import headwater
from capture.receiver import Receiver
from capture.subjects import Subjects
from headwater.capture.attach import Detached
from headwater.capture.classic import Capture

Event = dict[str, Any]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_spool_that_cannot_be_used_stops_no_capture(
    spark: SparkSession, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    capture = headwater.attach(spark, url=receiver.url, spool_dir="/proc/none/spool")
    assert not isinstance(capture, Detached)
    spark.range(3).write.parquet(str(tmp_path / "out"))
    capture.detach()
    assert "events wait in memory" in caplog.text
    assert str(tmp_path / "out") in receiver.outputs()
    receiver.events.clear()


@pytest.fixture(scope="module")
def subjects() -> Iterator[Subjects]:
    subjects = Subjects()
    yield subjects
    subjects.close()


@pytest.fixture(scope="module")
def captured(
    spark: SparkSession,
    receiver: Receiver,
    subjects: Subjects,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Receiver]:
    capture = headwater.attach(
        spark,
        url=receiver.url,
        namespace="test",
        spool_dir=str(tmp_path_factory.mktemp("spool")),
        heartbeat_seconds=0.5,
        registry_url=subjects.url,
        registry_seconds=0.2,
    )
    yield receiver
    capture.detach()
    assert receiver.types("capture_tests")[0] == "START"
    assert receiver.types("capture_tests")[-1] == "COMPLETE"


@pytest.fixture
def arriving(spark: SparkSession, tmp_path: Path) -> DataFrame:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1, "name": "a", "price": 2.5}\n')
    return spark.readStream.schema("id int, name string, price double").json(str(folder))


def start(frame: DataFrame, name: str, place: Path, **trigger: Any) -> StreamingQuery:
    return (
        frame.writeStream.queryName(name)
        .format("parquet")
        .option("path", str(place / "out"))
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(**(trigger or {"processingTime": "100 milliseconds"}))
        .start()
    )


def ended(receiver: Receiver, job: str) -> Event:
    """The last event of a job, once it is a terminal one."""
    receiver.wait_for(lambda r: r.types(job)[-1:] in (["COMPLETE"], ["FAIL"], ["ABORT"]))
    return [event for event in receiver.events if event["job"]["name"] == job][-1]


def columns(event: Event, output: int = 0) -> dict[str, set[tuple[str, str, str]]]:
    """Each output column with (dataset's last part, field, subtype)."""
    fields = event["outputs"][output]["facets"]["columnLineage"]["fields"]
    return {
        name: {
            (entry["name"].rpartition("/")[2], entry["field"], transformation["subtype"])
            for entry in field["inputFields"]
            for transformation in entry["transformations"]
        }
        for name, field in fields.items()
    }


@pytest.mark.usefixtures("captured")
def test_a_session_that_is_attached_already_reads_no_settings(spark: SparkSession) -> None:
    """`getOrCreate()` under `headwater run` attaches each time, and must cost nothing."""
    first = headwater.attach(spark)
    assert headwater.attach(spark, heartbeat_seconds="soon") is first
    assert isinstance(first, Capture)


def test_stopped_query_is_aborted(captured: Receiver, arriving: DataFrame, tmp_path: Path) -> None:
    query = start(arriving.selectExpr("id", "price * 2 as total"), "stopped", tmp_path)
    query.processAllAvailable()
    query.stop()
    last = ended(captured, "stopped")
    assert captured.types("stopped") == ["START", "RUNNING", "ABORT"]
    assert last["run"]["runId"] == query.runId
    assert last["inputs"][0]["name"] == str(tmp_path / "in")
    assert last["outputs"][0]["name"] == str(tmp_path / "out")
    assert columns(last) == {
        "id": {("in", "id", "IDENTITY")},
        "total": {("in", "price", "TRANSFORMATION")},
    }
    assert last["run"]["facets"]["headwater_progress"]["rows"] == 1


def test_bounded_query_completes(captured: Receiver, arriving: DataFrame, tmp_path: Path) -> None:
    start(arriving, "bounded", tmp_path, availableNow=True).awaitTermination()
    last = ended(captured, "bounded")
    assert last["eventType"] == "COMPLETE"
    first = next(e for e in captured.events if e["job"]["name"] == "bounded")
    assert first["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert first["job"]["facets"]["jobType"]["emissionPattern"] == "PERIODIC"
    assert first["run"]["facets"]["headwater_lease"]["seconds"] == 60
    assert first["run"]["facets"]["parent"]["job"]["name"] == "capture_tests"


def test_queries_leave_no_threads_behind(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    """A driver that starts queries all day has as many threads and sockets as at first."""

    def run(number: int) -> int:
        place = tmp_path / str(number)
        start(arriving, f"brief-{number}", place, availableNow=True).awaitTermination()
        assert ended(captured, f"brief-{number}")["eventType"] == "COMPLETE"
        return threading.active_count()

    first, *later = [run(number) for number in range(5)]
    assert max(later) <= first


def test_restart_is_a_new_run_of_the_same_job(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    for _ in range(2):
        start(arriving, "restarted", tmp_path, availableNow=True).awaitTermination()
        ended(captured, "restarted")
    captured.wait_for(lambda r: r.types("restarted").count("COMPLETE") == 2)
    runs = [e["run"] for e in captured.events if e["job"]["name"] == "restarted"]
    ids = list(dict.fromkeys(run["runId"] for run in runs))
    assert len(ids) == 2
    assert runs[-1]["facets"]["headwater_query"]["previousRunId"] == ids[0]


def test_failing_function_fails_the_query_once(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    broken = F.udf(lambda _: 1 // 0, "int")
    query = start(arriving.select(broken("id").alias("x")), "udf", tmp_path)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    last = ended(captured, "udf")
    assert captured.types("udf")[-1] == "FAIL"
    assert captured.types("udf").count("COMPLETE") == 0
    assert "ZeroDivisionError" in str(last["run"]["facets"]["errorMessage"])
    notes = last["run"]["facets"]["headwater_capture"]["notes"]
    assert notes == [{"kind": "opaque", "name": "PythonUDF <lambda>", "columns": ["x"]}]


def test_query_that_fails_before_its_first_batch(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("no offsets at all")
    query = start(arriving, "stillborn", tmp_path)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    last = ended(captured, "stillborn")
    assert last["eventType"] == "FAIL"
    assert last["run"]["facets"]["errorMessage"]["message"]
    assert "headwater_progress" not in last["run"]["facets"]
    assert captured.types("stillborn")[0] == "START"
    assert last["inputs"][0]["name"] == str(tmp_path / "in")


def test_writes_in_a_batch_function_belong_to_the_query(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    def write(batch: DataFrame, _: int) -> None:
        totals = batch.groupBy("name").agg(F.sum("price").alias("total"))
        totals.write.mode("append").parquet(str(tmp_path / "totals"))
        batch.select("id").write.mode("append").json(str(tmp_path / "ids"))

    query = (
        arriving.where("price > 1")
        .writeStream.queryName("stitched")
        .foreachBatch(write)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    captured.wait_for(lambda r: any(len(e["outputs"]) == 2 for e in r.events))
    query.stop()
    last = ended(captured, "stitched")
    assert {d["name"] for d in last["outputs"]} == {str(tmp_path / n) for n in ("totals", "ids")}
    totals = next(n for n, d in enumerate(last["outputs"]) if d["name"].endswith("totals"))
    assert columns(last, totals)["total"] == {
        ("in", "price", "AGGREGATION"),
        ("in", "price", "FILTER"),
        ("in", "name", "GROUP_BY"),
    }
    assert not [e for e in captured.events if e["job"]["name"].endswith("_totals")]


def test_failing_batch_function_fails_the_query(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    def explode(batch: DataFrame, _: int) -> None:
        raise ValueError("not this batch")

    query = arriving.writeStream.queryName("exploding").foreachBatch(explode).start()
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    last = ended(captured, "exploding")
    assert last["eventType"] == "FAIL"
    assert "not this batch" in str(last["run"]["facets"]["errorMessage"])


def test_queries_over_one_frame_are_told_apart(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    def write(name: str) -> Any:
        return lambda batch, _: batch.write.mode("append").parquet(str(tmp_path / name))

    queries = [start(arriving, "frame", tmp_path)]
    for name in ("left", "right"):
        writer = arriving.writeStream.queryName(name).foreachBatch(write(name))
        queries.append(writer.start())
    for query, name in zip(queries, ("out", "left", "right"), strict=True):
        query.processAllAvailable()
        captured.wait_for(lambda r, n=name: str(tmp_path / n) in r.outputs(), 60)  # type: ignore[misc]
    for query, name in zip(queries, ("out", "left", "right"), strict=True):
        query.stop()
        last = ended(captured, {"out": "frame"}.get(name, name))
        assert [one["name"] for one in last["outputs"]] == [str(tmp_path / name)]


def test_writer_s_own_name_for_its_dataset_stands_beside_the_place(
    captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    query = (
        arriving.writeStream.queryName("named")
        .format("json")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("headwater.dataset.namespace", "s3://bucket")
        .option("headwater.dataset.name", "orders")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    (output,) = ended(captured, "named")["outputs"]
    assert (output["namespace"], output["name"]) == ("s3://bucket", "orders")
    place = output["facets"]["symlinks"]["identifiers"][0]
    assert place == {"namespace": "file", "name": str(tmp_path / "out"), "type": "LOCATION"}


@pytest.mark.parametrize("whose", ["session", "query"])
def test_new_schema_of_a_topic_is_told_while_the_query_runs(
    spark: SparkSession, captured: Receiver, subjects: Subjects, tmp_path: Path, whose: str
) -> None:
    name = f"evolving.{whose}"

    def fields() -> list[str]:
        told = [e for e in captured.events if e["job"]["name"] == name and e["outputs"]]
        schema = told[-1]["outputs"][0]["facets"].get("schema", {}) if told else {}
        return [field["name"] for field in schema.get("fields", [])]

    registry = subjects if whose == "session" else Subjects()
    registry.register(f"{name}-value", "id")
    (tmp_path / "in").mkdir()  # and nothing comes, so that no broker is asked for
    source = spark.readStream.schema("id int, value string").json(str(tmp_path / "in"))
    writer = (
        source.writeStream.queryName(name)
        .format("kafka")
        .option("kafka.bootstrap.servers", "127.0.0.1:1")
        .option("topic", name)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    if whose == "query":
        writer = writer.option("headwater.registry.url", registry.url)
    query = writer.start()
    captured.wait_for(lambda _: fields() == ["id"])
    registry.register(f"{name}-value", "id", "price")
    captured.wait_for(lambda _: fields() == ["id", "price"])
    query.stop()
    assert ended(captured, name)["eventType"] == "ABORT"
    if whose == "query":
        registry.close()


def test_table_is_one_dataset_by_stream_and_by_batch(
    spark: SparkSession, captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    spark.sql("create table ice.db.orders (id int, total double) using iceberg")
    query = (
        arriving.selectExpr("id", "price as total")
        .writeStream.queryName("to-iceberg")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .toTable("ice.db.orders")
    )
    query.awaitTermination()
    streamed = ended(captured, "to-iceberg")
    spark.sql("create table ice.db.copy using iceberg as select * from ice.db.orders")
    copied = ended(captured, "capture_tests.append_data.db_copy")
    written, read = streamed["outputs"][0], copied["inputs"][0]
    assert (written["namespace"], written["name"]) == (read["namespace"], read["name"])
    assert written["facets"]["symlinks"] == read["facets"]["symlinks"]
    assert written["facets"]["symlinks"]["identifiers"][0]["name"] == "db.orders"
    progress = streamed["run"]["facets"]["headwater_progress"]
    snapshots = spark.sql("select snapshot_id from ice.db.orders.snapshots").collect()
    reported = [
        snapshot
        for event in captured.events
        if event["run"]["runId"] == query.runId
        for snapshot in event["run"]["facets"].get("headwater_progress", {}).get("snapshots", [])
    ]
    assert reported == [str(row[0]) for row in snapshots]
    assert progress["sources"][0]["endOffset"] == {"logOffset": 0}


def test_commit_that_a_query_repeats_is_not_its_own(
    spark: SparkSession, captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    spark.sql("create table ice.db.repeated (id int) using iceberg")

    def run_query() -> list[tuple[str, bool]]:
        """Each commit that one start of the query tells of, and whether it was made before."""
        query = (
            arriving.select("id")
            .writeStream.queryName("repeating")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .toTable("ice.db.repeated")
        )
        query.awaitTermination()

        def told() -> list[Any]:
            return [one for one in captured.events if one["run"]["runId"] == str(query.runId)]

        captured.wait_for(lambda _: told() and told()[-1]["eventType"] == "COMPLETE")
        facets = [one["run"]["facets"].get("headwater_progress", {}) for one in told()]
        commits = [commit for facet in facets for commit in facet.get("commits", ())]
        return [(one["snapshot"], one.get("recovered", False)) for one in commits]

    ((snapshot, is_repeated),) = run_query()
    assert not is_repeated
    for name in ("0", ".0.crc"):  # as when the driver is killed before Spark has noted the commit
        (tmp_path / "checkpoint/commits" / name).unlink()
    assert run_query() == [(snapshot, True)]


def test_table_that_cannot_be_read_stops_no_heartbeat(
    spark: SparkSession, captured: Receiver, arriving: DataFrame, tmp_path: Path
) -> None:
    """Each report of the query made capture read its table, which raised before any heartbeat."""
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "50")
    spark.sql("create table ice.db.gone (id int) using iceberg")
    place = Path(spark.conf.get("spark.sql.catalog.ice.warehouse") or "") / "db" / "gone"
    odd = (
        arriving.select("id")
        .writeStream.queryName("odd")
        .option("checkpointLocation", str(tmp_path / "odd"))
        .toTable("ice.db.gone")
    )
    odd.processAllAvailable()
    fine = start(arriving, "fine", tmp_path)
    captured.wait_for(lambda r: beats(r, "fine") and beats(r, "odd"))
    away = place.rename(place.with_name("away"))
    before = beats(captured, "fine"), beats(captured, "odd")
    captured.wait_for(lambda r: beats(r, "fine") > before[0] + 4)
    captured.wait_for(lambda r: beats(r, "odd") > before[1] + 4)
    assert odd.isActive
    away.rename(place)
    for query in (odd, fine):
        query.stop()
    spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
    assert ended(captured, "fine")["eventType"] == ended(captured, "odd")["eventType"] == "ABORT"


def beats(receiver: Receiver, job: str) -> int:
    told = [*receiver.events]
    return sum(1 for one in told if one["job"]["name"] == job and one["eventType"] == "RUNNING")


def test_batch_write_tells_how_much_it_wrote(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    spark.range(3).write.parquet(str(tmp_path / "counted"))
    job = f"capture_tests.execute_insert_into_hadoop_fs_relation_command.{tmp_path.name}_counted"
    told = ended(captured, job)["outputs"][0]["outputFacets"]["outputStatistics"]
    files = [*(tmp_path / "counted").glob("*.parquet")]
    assert told["rowCount"] == 3
    assert told["fileCount"] == len(files)
    assert told["size"] == sum(file.stat().st_size for file in files)


def test_batch_write_tells_the_snapshot_that_it_made(
    spark: SparkSession, captured: Receiver
) -> None:
    job = "capture_tests.append_data.db_left"
    spark.sql("create table ice.db.left (id bigint) using iceberg")
    for rows in (2, 5):
        spark.range(rows).writeTo("ice.db.left").append()
    spark.sql(
        "call ice.system.rewrite_data_files(table => 'db.left', "
        "options => map('min-input-files', '1'))"
    )
    spark.range(7).writeTo("ice.db.left").append()
    captured.wait_for(lambda found: found.types(job).count("COMPLETE") == 3)
    made = spark.sql("select snapshot_id from ice.db.left.snapshots where operation = 'append'")
    ends = [e for e in captured.events if e["job"]["name"] == job and e["eventType"] == "COMPLETE"]
    left = [e["outputs"][0] for e in ends]
    assert [one["outputFacets"]["outputStatistics"]["rowCount"] for one in left] == [2, 5, 7]
    told = [one["facets"]["version"]["datasetVersion"] for one in left]
    assert told == [str(row[0]) for row in made.collect()]
    told = [e["run"]["facets"]["headwater_progress"]["snapshots"] for e in ends]
    assert told == [[str(row[0])] for row in made.collect()]
    # The rewriting in between is a commit, too.
    assert [e["run"]["facets"]["headwater_progress"]["sequence"] for e in ends] == [1, 2, 4]


def test_batch_read_tells_the_version_that_it_read(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    for table in ("read", "from_now", "from_first"):
        spark.sql(f"create table ice.db.{table} (id bigint) using iceberg")
    for rows in (2, 5):
        spark.range(rows).writeTo("ice.db.read").append()
    made = "select snapshot_id from ice.db.read.snapshots order by committed_at"
    first, second = (str(row[0]) for row in spark.sql(made).collect())
    spark.sql("insert into ice.db.from_now select * from ice.db.read")
    spark.sql(f"insert into ice.db.from_first select * from ice.db.read version as of {first}")
    for _ in range(5):
        spark.sql("update ice.db.read set id = id + 1 where id > 3")
    job = "capture_tests.append_data.db_from_"
    assert version_read(ended(captured, f"{job}now")) == second
    assert version_read(ended(captured, f"{job}first")) == first
    # What each of them changes is what was there before it, although a newer one is by now.
    _, *before, _ = (str(row[0]) for row in spark.sql(made).collect())
    updates = "capture_tests.replace_data.db_read"
    captured.wait_for(lambda r: r.types(updates).count("COMPLETE") == len(before))
    completed = [
        e for e in captured.events if (e["job"]["name"], e["eventType"]) == (updates, "COMPLETE")
    ]
    assert [version_read(event) for event in completed] == before

    files = tmp_path / "files"
    spark.range(2).write.parquet(str(files))
    newest = max(file.stat().st_mtime_ns for file in files.glob("*.parquet")) // 1_000_000
    spark.read.parquet(str(files)).write.parquet(str(tmp_path / "copied"))
    command = "capture_tests.execute_insert_into_hadoop_fs_relation_command"
    told = version_read(ended(captured, f"{command}.{tmp_path.name}_copied"))
    assert datetime.fromisoformat(told).timestamp() == newest / 1_000


def version_read(event: dict[str, Any]) -> str:
    (dataset,) = event["inputs"]
    return str(dataset["facets"]["version"]["datasetVersion"])


def test_row_level_changes_name_their_columns(spark: SparkSession, captured: Receiver) -> None:
    spark.sql("create table ice.db.target (id int, total double) using iceberg")
    spark.sql("create table ice.db.source (id int, total double) using iceberg")
    spark.sql("insert into ice.db.source values (1, 2.0)")
    spark.sql(
        "merge into ice.db.target t using ice.db.source s on t.id = s.id "
        "when matched then update set total = s.total + 1 when not matched then insert *"
    )
    merged = ended(captured, "capture_tests.replace_data.db_target")
    assert columns(merged)["total"] == {
        ("source", "total", "TRANSFORMATION"),
        ("source", "total", "IDENTITY"),
        ("target", "total", "IDENTITY"),
        ("source", "id", "JOIN"),
        ("target", "id", "JOIN"),
    }
    spark.sql("delete from ice.db.target where id = 1 and total < 0")
    deleted = ended(captured, "capture_tests.delete_from_table.db_target")
    assert ("target", "total", "FILTER") in columns(deleted)["id"]


def test_spark_table_is_reported_once_for_create_as_select(
    spark: SparkSession, captured: Receiver
) -> None:
    spark.sql(
        "create table made using parquet as select item, count(*) as n from orders group by 1"
    )
    job = "capture_tests.execute_insert_into_hadoop_fs_relation_command.warehouse_made"
    last = ended(captured, job)
    assert columns(last)["n"] == {("orders", "item", "GROUP_BY")}
    source = last["inputs"][0]["facets"]["symlinks"]["identifiers"][0]
    assert source["name"] == "default.orders"
    spark.sql("insert into made select item, 1 from orders")
    ended(captured, "capture_tests.execute_insert_into_hadoop_fs_relation_command.default_made")
    assert not [e for e in captured.events if "create_data_source" in e["job"]["name"]]


def test_part_of_an_application_is_a_job_of_its_own(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    capture = headwater.attach(spark)
    assert isinstance(capture, Capture)
    with capture.part("nightly") as session:
        session.table("orders").select("item").write.parquet(str(tmp_path / "part"))
    ended(captured, "nightly")
    types = captured.types("nightly")
    assert (types[0], types[-1]) == ("START", "COMPLETE")
    written = next(e for e in captured.events if e["job"]["name"].startswith("nightly."))
    assert written["run"]["facets"]["parent"]["job"]["name"] == "nightly"
    first = next(e for e in captured.events if e["job"]["name"] == "nightly")
    assert first["run"]["facets"]["parent"]["job"]["name"] == "capture_tests"
    with pytest.raises(ValueError, match="no"), capture.part("failing"):
        raise ValueError("no night")
    assert ended(captured, "failing")["eventType"] == "FAIL"
    spark.table("orders").select("item").write.parquet(str(tmp_path / "whole"))
    captured.wait_for(lambda r: any(e["job"]["name"].endswith("whole") for e in r.events))
    last = next(e for e in captured.events if e["job"]["name"].endswith("whole"))
    assert last["run"]["facets"]["parent"]["job"]["name"] == "capture_tests"


def test_session_made_in_a_part_belongs_to_it(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    capture = headwater.attach(spark)
    assert isinstance(capture, Capture)
    with capture.part("inner") as session:
        made = session.newSession()
        made.newSession().table("orders").select("item").write.parquet(str(tmp_path / "made"))
    captured.wait_for(lambda r: any(str(tmp_path / "made") in str(e["outputs"]) for e in r.events))
    last = [e for e in captured.events if str(tmp_path / "made") in str(e["outputs"])][-1]
    assert last["run"]["facets"]["parent"]["job"]["name"] == "inner"


def test_attaching_twice_is_attaching_once(spark: SparkSession, captured: Receiver) -> None:
    assert headwater.attach(spark) is headwater.attach(spark)
