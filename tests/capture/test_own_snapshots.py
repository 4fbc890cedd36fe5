"""A write reports the snapshot that it made itself, whatever else is committed meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headwater
from capture.kinds import runs
from capture.receiver import Receiver

Event = dict[str, Any]
_SECONDS = 3.0  # that a slow write takes


@pytest.fixture(scope="module")
def captured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    receiver = Receiver()
    spool = str(tmp_path_factory.mktemp("spool"))
    capture = headwater.attach(spark, url=receiver.url, namespace="own", spool_dir=spool,
                              heartbeat_seconds=0.5)  # fmt: skip
    yield receiver
    capture.detach()
    receiver.close()


def _create(spark: SparkSession, name: str, **properties: Any) -> str:
    table = f"ice.own.{name}"
    told = {"format-version": 2, "write.wap.enabled": "true", **properties}
    listed = ", ".join(f"'{key.replace('__', '.')}' = '{value}'" for key, value in told.items())
    spark.sql(f"create table {table} (id bigint, text string) using iceberg "
              f"tblproperties ({listed})")  # fmt: skip
    spark.sql(f"insert into {table} values (1, 'a'), (2, 'b')")
    spark.sql(f"alter table {table} create branch audit")
    return table


def _snapshots(spark: SparkSession, table: str) -> set[str]:
    return {
        str(row[0]) for row in spark.sql(f"select snapshot_id from {table}.snapshots").collect()
    }


def _ended(captured: Receiver, table: str, count: int) -> list[Event]:
    """The last events of the runs that wrote a table."""

    def found() -> list[Event]:
        place = table.removeprefix("ice.").replace(".", "/")
        return [
            event
            for event in [*captured.events]
            if event["eventType"] == "COMPLETE"
            and event["job"]["facets"]["jobType"]["processingType"] == "BATCH"
            and any(output["name"].endswith(f"/{place}") for output in event["outputs"])
        ]

    captured.wait_for(lambda _: len(found()) >= count)
    return found()


def _told(event: Event) -> list[str]:
    progress = event["run"]["facets"].get("headwater_progress") or {}
    told: list[str] = progress.get("snapshots", [])
    (output,) = event["outputs"]
    version = output["facets"].get("version", {}).get("datasetVersion")
    assert told == ([version] if version else [])
    return told


def _rows(spark: SparkSession) -> DataFrame:
    return spark.range(3, 4).selectExpr("id", "'c' as text")


@contextmanager
def _setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    spark.conf.set(key, value)
    yield
    spark.conf.unset(key)


def _wap(key: str, value: str) -> Callable[[SparkSession, str], None]:
    def write(spark: SparkSession, table: str) -> None:
        with _setting(spark, f"spark.wap.{key}", value):
            _rows(spark).writeTo(table).append()

    return write


def _sql(text: str) -> Callable[[SparkSession, str], object]:
    return lambda spark, table: spark.sql(text.format(t=table))


WAYS: dict[str, Callable[[SparkSession, str], object]] = {
    "append": lambda spark, t: _rows(spark).writeTo(t).append(),
    "insert": _sql("insert into {t} values (3, 'c')"),
    "an empty insert": _sql("insert into {t} select id, 'c' from range(0)"),
    "overwrite": lambda spark, t: _rows(spark).writeTo(t).overwrite(F.lit(True)),
    "partitions": lambda spark, t: _rows(spark).writeTo(t).overwritePartitions(),
    "insertInto": lambda spark, t: _rows(spark).write.insertInto(t),
    "saveAsTable": lambda spark, t: _rows(spark).write.mode("append").saveAsTable(t),
    "replace": lambda spark, t: _rows(spark).writeTo(t).using("iceberg").replace(),
    "delete": _sql("delete from {t} where id = 1"),
    "delete files": _sql("delete from {t} where id > 0"),
    "update": _sql("update {t} set text = 'z' where id = 1"),
    "merge": _sql("merge into {t} using (select 2 as id) s on {t}.id = s.id "
                  "when matched then update set text = 'y' "
                  "when not matched then insert (id, text) values (s.id, 'n')"),
    "branch": lambda spark, t: _rows(spark).writeTo(f"{t}.branch_audit").append(),
    "branch option": lambda spark, t: _rows(spark).writeTo(t).option("branch", "audit").append(),
    "branch update": _sql("update {t}.branch_audit set text = 'z' where id = 1"),
    "wap branch": _wap("branch", "published"),
    "wap id": _wap("id", "staged"),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read", "v3"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_writing_reports_its_snapshot(
    spark: SparkSession, captured: Receiver, way: str, mode: str
) -> None:
    name = f"{way}_{mode}".replace(" ", "_").replace("-", "_").lower()
    how = "merge-on-read" if mode == "v3" else mode
    modes = {f"write__{kind}__mode": how for kind in ("delete", "update", "merge")}
    table = _create(spark, name, **modes, **({"format-version": 3} if mode == "v3" else {}))
    before = _snapshots(spark, table)
    known = len(_ended(captured, table, 1))
    WAYS[way](spark, table)
    (made,) = _snapshots(spark, table) - before
    event = _ended(captured, table, known + 1)[-1]
    assert _told(event) == [made]


def test_a_snapshot_is_known_by_its_files_where_manifests_are_merged(
    spark: SparkSession, captured: Receiver
) -> None:
    merging = {"commit.manifest.min-count-to-merge": 2}
    table = _create(spark, "merged", **merging)
    known = len(_ended(captured, table, 1))
    made: list[str] = []
    for _ in range(8):
        before = _snapshots(spark, table)
        _rows(spark).writeTo(table).append()
        made += _snapshots(spark, table) - before
    assert spark.table(f"{table}.manifests").count() == 1
    assert [_told(one) for one in _ended(captured, table, known + 8)[known:]] == [[m] for m in made]


def _slow(frame: DataFrame) -> DataFrame:
    def waited(id_: int) -> int:
        time.sleep(_SECONDS)
        return id_

    wait = F.udf(waited, "bigint", useArrow=False).asNondeterministic()
    return frame.select(wait("id").alias("id"), "text")


def _beside(slow: Callable[[], object], quick: Callable[[], object]) -> None:
    """Do something while something else is under way, and is not over before."""
    thread = threading.Thread(target=slow)
    thread.start()
    time.sleep(_SECONDS / 3)
    quick()
    assert thread.is_alive()
    thread.join()


def test_a_write_into_a_branch_does_not_claim_what_a_stream_commits(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    table = _create(spark, "beside_stream")
    known = len(_ended(captured, table, 1))

    def stream() -> None:
        _rows(spark).write.json(str(tmp_path / "rows"))
        rows = spark.readStream.schema("id bigint, text string").json(str(tmp_path / "rows"))
        writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable(table).awaitTermination()

    _beside(lambda: _slow(_rows(spark)).writeTo(f"{table}.branch_audit").append(), stream)
    event = _ended(captured, table, known + 1)[-1]
    refs = {r.name: str(r.snapshot_id) for r in spark.table(f"{table}.refs").collect()}
    assert _told(event) == [refs["audit"]]


def test_a_write_that_commits_nothing_does_not_claim_what_another_commits(
    spark: SparkSession, captured: Receiver
) -> None:
    """A dynamic overwrite without rows makes no snapshot."""
    table = _create(spark, "without_commit")
    known = len(_ended(captured, table, 1))
    nothing = _slow(_rows(spark)).where("id < 0")
    quick = _rows(spark).withColumn("text", F.lit("quick"))
    _beside(nothing.writeTo(table).overwritePartitions, quick.writeTo(table).append)
    told = [_told(event) for event in _ended(captured, table, known + 2)[known:]]
    assert sorted(told) == [[], [_current(spark, table)]]


def _current(spark: SparkSession, table: str) -> str:
    refs = {r.name: str(r.snapshot_id) for r in spark.table(f"{table}.refs").collect()}
    return refs["main"]


def test_writes_of_several_threads_report_their_own_snapshots(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    table, threads, writes = _create(spark, "threads"), 3, 3
    known = len(_ended(captured, table, 1))

    def write(number: int) -> None:
        folder = str(tmp_path / f"source_{number}")
        spark.range(1).selectExpr("id", f"'{number}' as text").write.json(folder)
        rows = spark.read.schema("id bigint, text string").json(folder)
        for _ in range(writes):
            rows.writeTo(table).append()

    running = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    made = {
        str(row["snapshot_id"]): row["text"]
        for row in spark.sql(f"select text, e.snapshot_id from {table} t join {table}.entries e "
                             "on t._file = e.data_file.file_path").collect()
    }  # fmt: skip
    events = _ended(captured, table, known + threads * writes)[known:]
    claimed = {}
    for event in events:
        (source,) = event["inputs"]
        for snapshot in _told(event):
            assert snapshot not in claimed
            claimed[snapshot] = source["name"].rpartition("_")[2]
    assert claimed == {one: text for one, text in made.items() if text in "012"}


READS: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "by name": lambda spark, t: spark.table(f"{t}.branch_audit"),
    "by option": lambda spark, t: spark.read.option("branch", "audit").table(t),
    "by version": lambda spark, t: spark.sql(f"select * from {t} version as of 'audit'"),
    "by setting": lambda spark, t: spark.table(t),
}


@pytest.mark.parametrize("way", READS)
def test_a_read_of_a_branch_does_not_report_the_state_of_main(
    spark: SparkSession, captured: Receiver, tmp_path: Path, way: str
) -> None:
    table = _create(spark, f"read_{way.replace(' ', '_')}")
    spark.sql(f"insert into {table}.branch_audit values (7, 'branch')")
    spark.sql(f"insert into {table} values (8, 'main')")
    out = str(tmp_path / "out")
    if way == "by setting":
        with _setting(spark, "spark.wap.branch", "audit"):
            READS[way](spark, table).write.parquet(out)
    else:
        READS[way](spark, table).write.parquet(out)
    assert spark.read.parquet(out).where("text = 'branch'").count() == 1
    captured.wait_for(lambda _: runs([*captured.events], out))
    (source,) = runs([*captured.events], out)[0][-1]["inputs"]
    version = source["facets"].get("version", {}).get("datasetVersion")
    refs = {r.name: str(r.snapshot_id) for r in spark.table(f"{table}.refs").collect()}
    assert version in (None, refs["audit"])
