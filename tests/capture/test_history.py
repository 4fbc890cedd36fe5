"""The snapshots that writes report: their ids, and the snapshots that they were made from."""

import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater
from capture.receiver import Receiver

Event = dict[str, Any]


@pytest.fixture(scope="module")
def captured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    receiver = Receiver()
    spool = str(tmp_path_factory.mktemp("spool"))
    capture = headwater.attach(spark, url=receiver.url, namespace="history", spool_dir=spool,
                              heartbeat_seconds=0.5)  # fmt: skip
    yield receiver
    capture.detach()
    receiver.close()


class Table:
    """An Iceberg table, as its own metadata has it."""

    def __init__(self, spark: SparkSession, name: str, version: int = 2) -> None:
        self._spark, self.name = spark, f"ice.history.{name}"
        spark.sql(f"create table {self.name} (id bigint, text string) using iceberg "
                  f"tblproperties ('format-version' = '{version}')")  # fmt: skip

    def append(self, count: int = 1) -> None:
        self._spark.range(count).selectExpr("id", "'x' as text").writeTo(self.name).append()

    def call(self, procedure: str, *more: str) -> None:
        arguments = ", ".join((f"'{self.name.removeprefix('ice.')}'", *more))
        self._spark.sql(f"call ice.system.{procedure}({arguments})")

    def ids(self) -> list[int]:
        """The snapshots of the main branch, earliest first."""
        return [id_ for id_, _ in reversed([*self._line(None)])]

    def history(self, snapshot: str) -> set[int]:
        """The sequence numbers of all that a snapshot was made from, and its own."""
        return {number for _, number in self._line(int(snapshot))}

    @property
    def uuid(self) -> str:
        return str(self._loaded().uuid().toString())

    def _loaded(self) -> Any:
        loader = self._spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
        return loader.loadIcebergTable(self._spark._jsparkSession, self.name)

    def _line(self, snapshot: int | None) -> Iterator[tuple[int, int]]:
        table = self._loaded()
        one = table.snapshot(snapshot) if snapshot is not None else table.currentSnapshot()
        while one is not None:
            yield int(one.snapshotId()), int(one.sequenceNumber())
            parent = one.parentId()
            one = table.snapshot(parent) if parent is not None else None


def ended(captured: Receiver, name: str, count: int) -> list[Event]:
    """The last events of so many runs that wrote a table, in the order in which these ended."""

    def found() -> list[Event]:
        return [
            event
            for event in [*captured.events]
            if event["eventType"] == "COMPLETE"
            and any(output["name"].endswith(f"/{name}") for output in event["outputs"])
        ]

    captured.wait_for(lambda _: len(found()) >= count)
    return found()


def numbers(history: list[list[int]]) -> set[int]:
    return {number for first, last in history for number in range(first, last + 1)}


@pytest.mark.parametrize("seed", range(3))
def test_the_history_of_a_batch_write_is_that_of_its_snapshot(
    spark: SparkSession, captured: Receiver, seed: int
) -> None:
    chance, name = random.Random(seed), f"batch{seed}"
    table, writes = Table(spark, name), 0
    for step in range(25):
        ids = table.ids()
        what = chance.choice(["append", "append", "rollback", "compact", "branch"]) if ids else ""
        if what == "rollback":
            table.call("rollback_to_snapshot", str(chance.choice(ids)))
        elif what == "compact":
            table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
        elif what == "branch":
            spark.sql(f"alter table {table.name} create branch b{step}")
            spark.sql(f"insert into {table.name}.branch_b{step} values (1, 'b')")
            writes += 1
        else:
            table.append()
            writes += 1
    told = [one["run"]["facets"]["headwater_progress"] for one in ended(captured, name, writes)
            if one["run"]["facets"].get("headwater_progress", {}).get("snapshots")]  # fmt: skip
    assert told
    for progress in told:
        (snapshot,) = progress["snapshots"]
        assert numbers(progress["history"]) == table.history(snapshot)
        assert progress["history"][-1][1] == progress["sequence"]


def test_a_table_that_is_created_again_is_told_from_the_one_before(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    uuids, told = [], []
    (tmp_path / "again").mkdir()
    spark.range(1).selectExpr("id", "'s' as text").write.mode("append").json(
        str(tmp_path / "again")
    )
    for count in (1, 2):
        table = Table(spark, "again")
        table.append()
        query = _start(spark, table, tmp_path / "again", is_long=False)
        query.awaitTermination()
        captured.wait_for(partial(_has_commits, ids={str(query.runId)}, count=1))
        (commit,) = _commits(captured, {str(query.runId)})
        batch = [event for event in ended(captured, "again", 2 * count)
                 if event["job"]["facets"]["jobType"]["processingType"] == "BATCH"][-1]  # fmt: skip
        progress = batch["run"]["facets"]["headwater_progress"]
        assert (progress["sequence"], commit["sequence"]) == (1, 2)
        told += [progress["table"], commit["table"]]
        uuids += [table.uuid] * 2
        spark.sql(f"drop table {table.name} purge")
        shutil.rmtree(tmp_path / "again-checkpoint")
    assert told == uuids
    assert len({*uuids}) == 2


def test_a_table_that_does_not_count_its_snapshots_has_no_history(
    spark: SparkSession, captured: Receiver
) -> None:
    table = Table(spark, "uncounted", version=1)
    table.append()
    table.append()
    for event in ended(captured, "uncounted", 2)[-2:]:
        assert "history" not in event["run"]["facets"]["headwater_progress"]


def test_the_history_of_a_stream_goes_on_across_rollbacks_and_other_writers(
    spark: SparkSession, captured: Receiver, tmp_path: Path
) -> None:
    """One query that runs on, and one that is started again for each batch."""
    for is_long in (True, False):
        name = "long" if is_long else "short"
        table = Table(spark, name)
        (tmp_path / name).mkdir()
        queries: list[Any] = []
        for batch in range(6):
            spark.range(1).selectExpr("id", "'s' as text").write.mode("append").json(
                str(tmp_path / name)
            )
            if not is_long or not queries:
                queries.append(_start(spark, table, tmp_path / name, is_long=is_long))
            ids = {str(query.runId) for query in queries}
            captured.wait_for(partial(_has_commits, ids=ids, count=batch + 1))
            if not is_long:
                queries[-1].awaitTermination()
            if batch == 1:
                table.append()
            elif batch == 3:
                table.call("rollback_to_snapshot", str(table.ids()[1]))
            elif batch == 4:
                table.call("expire_snapshots", "timestamp '2100-01-01 00:00:00'", "1")
        for query in queries:
            query.stop()
        commits = _commits(captured, ids)
        # Numbers 1, 2 and 4 to 6 before the rollback to 2; what expired is known to who saw it.
        histories = [numbers(one["history"]) for one in commits]
        assert [max(history) for history in histories] == [1, 2, 4, 5, 6, 7]
        assert histories[:4] == [{1}, {1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}]
        assert histories[4] == {1, 2, 6}
        assert histories[5] == ({1, 2, 6, 7} if is_long else {6, 7})
        assert len({one["snapshot"] for one in commits}) == len(commits)


def _commits(captured: Receiver, runs: set[str]) -> list[dict[str, Any]]:
    """What some runs committed themselves."""
    events = [one for one in [*captured.events] if one["run"]["runId"] in runs]
    facets = [event["run"]["facets"].get("headwater_progress") or {} for event in events]
    commits = [commit for facet in facets for commit in facet.get("commits", ())]
    return [commit for commit in commits if not commit.get("recovered")]


def _has_commits(captured: Receiver, ids: set[str], count: int) -> bool:
    return len(_commits(captured, ids)) >= count


def _start(spark: SparkSession, table: Table, folder: Path, *, is_long: bool) -> Any:
    rows: DataFrame = spark.readStream.schema("id bigint, text string").json(str(folder))
    writer = rows.writeStream.queryName(f"history-{folder.name}")
    writer = writer.option("checkpointLocation", f"{folder}-checkpoint")
    trigger = {"processingTime": "0 seconds"} if is_long else {"availableNow": True}
    return writer.trigger(**trigger).toTable(table.name)


def test_each_write_of_a_statement_tells_its_own_snapshot(
    spark: SparkSession, captured: Receiver
) -> None:
    """`FROM ... INSERT ... INSERT ...`, into one table, into two, and in both ways."""
    one, other = Table(spark, "first_of_two"), Table(spark, "second_of_two")
    for number, targets in enumerate(((one, one), (one, other), (other, one, other))):
        inserts = " ".join(
            f"insert into {table.name} select id, '{number}{place}'"
            for place, table in enumerate(targets)
        )
        spark.sql(f"from range(1) {inserts}")
    for table in (one, other):
        name = table.name.rpartition(".")[2]
        events = ended(captured, name, len(table.ids()))
        made = {
            row["text"]: str(row["snapshot_id"])
            for row in spark.sql(
                f"select text, e.snapshot_id from {table.name} t join {table.name}.entries e "
                "on t._file = e.data_file.file_path"
            ).collect()
        }
        told = [event["outputs"][0]["facets"]["version"]["datasetVersion"] for event in events]
        assert told == [made[text] for text in sorted(made)]
