"""Rows traced back to the records of the topic, and records to the tables, on the real platform."""

import random
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.cli.client import Client
from headwater.cli.story import write_story
from headwater.errors import BadPredicate, RequestRefused, RowMissing, TableUnknown
from headwater.pipeline.jobs import supplier_hours
from headwater.trace.forward import Span, rows_reached
from headwater.trace.iceberg import IcebergTable
from headwater.trace.lineage import Server
from headwater.trace.plans import stream_plan, table_plan
from headwater.trace.ranges import MADE_AGAIN, NEWER, held
from headwater.trace.records import group_of
from headwater.trace.shapes import Record
from headwater.trace.why import why
from headwater.trace.why_not import Outcome, why_not
from pipeline.tracing import ORDERS, STATS, TOPIC, Traced, send_bytes
from ports import free_port
from server.events import dataset, facet, run_event

_EARLY = "o3"  # an order of the day before the last


def test_a_row_of_a_stream_leads_to_its_batch_and_offsets(traced: Traced) -> None:
    story = why(traced.spark, traced.client, ORDERS, "order_id = 'o42'", 3)
    assert (story.format_version, story.row_count, story.complete) == (3, 1, True)
    (row,) = story.rows
    assert (row.values["supplier"], row.values["price"]) == ("Bob", "43.50")
    assert row.values["bid_time"] == "2026-03-02T02:00:00Z"
    assert row.snapshot is not None
    (write,) = row.writes
    assert (row.exact, write["name"], write["batch"]) == (
        True,
        "iceberg-ingestion",
        row.snapshot.batch,
    )
    assert sum(one["to"] - one["from"] for one in write["offsets"][TOPIC].values()) < 60
    price = next(one for one in story.formulas if one.column == "price")
    assert price.formula == "cast(price AS decimal(10,2))"


def test_a_row_of_a_batch_write_leads_to_the_snapshot_that_was_read(traced: Traced) -> None:
    story = why(traced.spark, traced.client, STATS, "supplier = 'O\\'Neil' AND bid_hour = 1", 3)
    (row,) = story.rows
    batch, *before = row.writes
    assert batch["name"].startswith("supplier_stats.overwrite")
    (orders,) = batch["inputs"]
    snapshots = traced.spark.table(f"{ORDERS}.snapshots").orderBy("committed_at").collect()
    assert orders["snapshot"] == str(snapshots[-1]["snapshot_id"])
    assert {one["name"] for one in before} == {"iceberg-ingestion"}
    assert not any(one["exact"] for one in before)
    assert sum(span["to"] for span in before[0]["offsets"][TOPIC].values()) == 62


def test_the_record_of_a_row_is_found_with_its_message(traced: Traced) -> None:
    story = why(traced.spark, traced.client, ORDERS, "order_id = 'o42'", 3, traced.settings)
    found = story.rows[0].records
    assert found is not None
    assert found.exact, found.reason
    (record,) = found.records
    spans = story.rows[0].writes[0]["offsets"][TOPIC]
    span = spans[str(record.partition)]
    assert span["from"] <= record.offset < span["to"]
    assert (record.message["order_id"], record.message["price"]) == ("o42", 43.5)


def test_the_messages_of_a_total_add_up_to_it(traced: Traced) -> None:
    predicate = "supplier = 'O\\'Neil' AND bid_hour = 1"
    story = why(traced.spark, traced.client, STATS, predicate, 3, traced.settings)
    found = story.rows[0].records
    assert found is not None
    assert found.exact, found.reason
    messages = [record.message for row in found.rows for record in row.records]
    expected = {
        one[0] for one in traced.orders
        if one[3] == "O'Neil" and one[4].date().isoformat() == "2026-03-02" and one[4].hour == 1
    }  # fmt: skip
    assert {one["order_id"] for one in messages} == expected
    total = sum(Decimal(str(one["price"])) for one in messages)
    assert (str(total), len(messages)) == (
        story.rows[0].values["total_price"].removesuffix("0"), story.rows[0].values["total_count"],
    )  # fmt: skip


def test_the_story_reads_from_the_row_to_the_messages(
    traced: Traced, capsys: pytest.CaptureFixture[str]
) -> None:
    predicate = "supplier = 'Bob' AND bid_hour = 2"
    story = why(traced.spark, traced.client, STATS, predicate, 1, traced.settings)
    write_story(story)
    told = capsys.readouterr().out
    expected = (
        f"row of {STATS}", "supplier     Bob", "written by snapshot", "run ", "at snapshot",
        "was written by iceberg-ingestion", f"read {TOPIC}/0@0-", "superset", "records  exact",
        '"order_id":', "total_price = ",
    )  # fmt: skip
    assert [text for text in expected if text not in told] == [], told
    places = [told.index(text) for text in expected]
    assert places == sorted(places), told


def test_compaction_keeps_the_snapshot_of_a_row_on_v3_and_not_on_v2(traced: Traced) -> None:
    spark = traced.spark
    for version in (2, 3):
        table = f"traced.default.compact{version}"
        spark.sql(f"CREATE TABLE {table} (id INT) USING iceberg "
                  f"TBLPROPERTIES ('format-version' = '{version}')")  # fmt: skip
        for number in range(3):
            spark.sql(f"INSERT INTO {table} VALUES ({number})")
        before = why(spark, traced.client, table, "id = 1", 1).rows[0].snapshot
        place, few = f"default.compact{version}", "map('min-input-files', '2')"
        spark.sql(f"CALL traced.system.rewrite_data_files(table => '{place}', options => {few})")
        (row,) = why(spark, traced.client, table, "id = 1", 1).rows
        assert before is not None
        if version == 3:
            assert row.snapshot is not None
            assert row.snapshot.id == before.id
        else:
            compaction = IcebergTable(spark, table).current
            assert (row.snapshot, row.exact, row.writes) == (None, False, [])
            assert f"compaction wrote its file with snapshot {compaction}" in str(row.reason)


@pytest.mark.parametrize("versions", [(2, 2), (3, 3), (2, 3)], ids=["v2", "v3", "v2 to v3"])
def test_a_snapshot_that_is_called_certain_wrote_the_row(
    traced: Traced, versions: tuple[int, int]
) -> None:
    """Whatever is done to a table: appends, updates, compaction, an upgrade, expiry.

    One that is not certain is the one that wrote the row, or a later one that copied it.
    """
    spark, place = traced.spark, f"default.certain{versions[0]}{versions[1]}"
    table = f"traced.{place}"
    truth: dict[int, str] = {}  # the snapshot that wrote each row
    certain: list[set[int]] = []  # the rows of which that is said, after each change

    def change(statement: str, *ids: int) -> None:
        spark.sql(statement)
        found = IcebergTable(spark, table)
        truth.update(dict.fromkeys(ids, str(found.current)))
        rows = found.located(found.frame().collect())
        sure = {row.row["id"]: row.snapshot_id for row in rows if row.reason is None}
        order = [str(one.snapshotId()) for one in found._metadata.snapshots()]
        for row in rows:
            made = found.snapshot(row.snapshot_id) if row.snapshot_id else None
            if made is not None:
                assert made.operation != "replace", statement
                first = truth[row.row["id"]]
                assert first not in order or order.index(made.id) >= order.index(first), statement
        assert sure.items() <= truth.items(), statement
        certain.append({*sure})

    def write(first: int) -> None:
        change(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'a' FROM range({first}, "
               f"{first + 2})", first, first + 1)  # fmt: skip
        change(f"INSERT INTO {table} VALUES ({first + 2}, 'a')", first + 2)
        change(f"UPDATE {table} SET v = 'b' WHERE id = {first}", first)
        change(f"CALL traced.system.rewrite_data_files(table => '{place}', "
               "options => map('rewrite-all', 'true'))")  # fmt: skip

    spark.sql(f"CREATE TABLE {table} (id INT, v STRING) USING iceberg "
              f"TBLPROPERTIES ('format-version' = '{versions[0]}')")  # fmt: skip
    write(0)
    change(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '{versions[1]}')")
    write(10)
    change(f"CALL traced.system.expire_snapshots(table => '{place}', "
           "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)")  # fmt: skip
    change(f"INSERT INTO {table} VALUES (20, 'a')", 20)
    assert certain[1] == {0, 1, 2}
    assert 20 in certain[-1]
    if versions == (3, 3):
        assert certain[-3] == {0, 1, 2, 10, 11, 12}
    if versions == (2, 3):
        assert certain[-3] >= {10, 11, 12}


@pytest.mark.parametrize("text", ["1 / 0 = id", "CAST(v AS INT) = 1", "v RLIKE '('"])
def test_a_predicate_that_fails_on_a_row_is_told(traced: Traced, text: str) -> None:
    table = "traced.default.failing"
    traced.spark.sql(f"CREATE TABLE IF NOT EXISTS {table} (id INT, v STRING) USING iceberg")
    traced.spark.sql(f"INSERT INTO {table} VALUES (1, 'x')")
    with pytest.raises(BadPredicate) as told:
        why(traced.spark, traced.client, table, text, 1)
    assert "\n" not in told.value.message


def test_what_was_never_captured_says_so_and_shows_what_the_table_knows(traced: Traced) -> None:
    traced.spark.sql("CREATE TABLE traced.default.silent (id INT) USING iceberg")
    traced.spark.sql("INSERT INTO traced.default.silent VALUES (1), (2), (3)")
    story = why(traced.spark, traced.client, "traced.default.silent", "id > 1", 1)
    assert story.rows[0].snapshot is not None
    assert story.rows[0].snapshot.operation == "append"
    assert not story.rows[0].exact
    assert any("was not captured" in note for note in story.notes)
    assert "2 rows match: the first 1 are traced" in story.notes


def test_without_a_server_the_table_still_tells_its_snapshot(traced: Traced) -> None:
    with Client(f"http://127.0.0.1:{free_port()}") as nobody:
        story = why(traced.spark, nobody, ORDERS, "order_id = 'o1'", 1)
    assert not story.complete
    assert story.rows[0].snapshot is not None
    assert story.rows[0].snapshot.query_id
    assert [note for note in story.notes if "no lineage server answers" in note] == story.notes


def test_an_expired_snapshot_is_known_by_its_file(traced: Traced) -> None:
    table = "traced.default.expiring"
    traced.spark.sql(f"CREATE TABLE {table} (id INT) USING iceberg "
                     "TBLPROPERTIES ('format-version' = '3')")  # fmt: skip
    for number in range(3):
        traced.spark.sql(f"INSERT INTO {table} VALUES ({number})")
    before = why(traced.spark, traced.client, table, "id = 0", 1).rows[0].snapshot
    until = "TIMESTAMP '2100-01-01 00:00:00'"
    traced.spark.sql("CALL traced.system.expire_snapshots(table => 'default.expiring', "
                     f"older_than => {until}, retain_last => 1)")  # fmt: skip
    (row,) = why(traced.spark, traced.client, table, "id = 0", 1).rows
    assert row.snapshot is not None
    assert before is not None
    assert (row.snapshot.id, row.snapshot.at) == (before.id, None)


def test_without_a_server_it_is_not_said_that_nobody_read_a_record(traced: Traced) -> None:
    with Client(f"http://127.0.0.1:{free_port()}") as nobody:
        told = why_not(traced.spark, nobody, traced.settings, ORDERS, Record(TOPIC, 0, 1))
    assert (told.outcome, told.complete) == ("unknown", False)


def test_no_row_and_no_table_are_told(traced: Traced) -> None:
    with pytest.raises(RowMissing, match=r"no row of .*orders matches"):
        why(traced.spark, traced.client, ORDERS, "order_id = 'none'", 1)
    with pytest.raises(TableUnknown, match="does not exist"):
        why(traced.spark, traced.client, "traced.default.nothing", "true", 1)
    with pytest.raises(TableUnknown, match="there is no catalog default"):
        why(traced.spark, traced.client, "default.orders.nothing", "true", 1)
    with pytest.raises(TableUnknown, match="name the table"):
        why(traced.spark, traced.client, f"{ORDERS}.snapshots", "snapshot_id > 0", 1)


@pytest.mark.parametrize(
    "text",
    ["order_id =", "", "order_id = 'a'; DROP TABLE x", "nothing = 1", "order_id", "price + 1",
     "reflect('java.lang.System', 'exit', 1) = 'x'", "java_method('a.B', 'c') = 1",
     "try_reflect('a.B', 'c') = 1", "EXISTS (SELECT 1)", "order_id IN (SELECT 1)",
     "(SELECT 1) = 1", "count(*) > 1", "count(*) OVER () > 1", "system.reflect('a', 'b') = 1",
     "identifier('reflect')('java.lang.System', 'exit', 1) = 1", "order_id = :x",
     "exists(array(1), x -> reflect('a', 'b') = 1)", "1 = " + "1 + " * 5000 + "1"],
)  # fmt: skip
def test_a_predicate_is_a_condition_on_columns_and_nothing_else(traced: Traced, text: str) -> None:
    with pytest.raises(BadPredicate) as error:
        why(traced.spark, traced.client, ORDERS, text, 1)
    assert "\n" not in error.value.message


def _ask_not(traced: Traced, table: str, partition: int, offset: int) -> Outcome:
    record = Record(TOPIC, partition, offset)
    return why_not(traced.spark, traced.client, traced.settings, table, record)


def _record_of(traced: Traced, order: str) -> Record:
    story = why(traced.spark, traced.client, ORDERS, f"order_id = '{order}'", 1, traced.settings)
    found = story.rows[0].records
    assert found is not None
    return found.records[0]


def test_a_record_that_was_written_leads_to_its_row(traced: Traced) -> None:
    record = _record_of(traced, "o50")
    told = _ask_not(traced, ORDERS, record.partition, record.offset)
    assert (told.outcome, told.job, told.operator) == ("written", "iceberg-ingestion", None)
    assert told.row is not None
    assert told.row["order_id"] == "o50"
    assert told.batch is not None
    totals = _ask_not(traced, STATS, record.partition, record.offset)
    assert totals.outcome == "written"
    assert totals.row is not None
    assert totals.row["supplier"] == told.row["supplier"]


def test_the_operator_that_drops_a_record_is_named(traced: Traced) -> None:
    early = _record_of(traced, _EARLY)
    told = _ask_not(traced, STATS, early.partition, early.offset)
    assert (told.outcome, told.operator) == ("dropped", "join (left semi): latest day")
    (partition, offset), *_ = traced.bad
    told = _ask_not(traced, ORDERS, partition, offset)
    assert (told.outcome, told.operator) == ("dropped", "decode by its schema")
    assert told.record.message == "no order"


def test_a_record_that_a_sink_cannot_decode_is_a_dead_letter(traced: Traced) -> None:
    traced.spark.sql("CREATE TABLE traced.default.sunk (order_id STRING) USING iceberg")
    table = IcebergTable(traced.spark, "traced.default.sunk").node
    (partition, offset), *_ = traced.bad
    topic = dataset(TOPIC, f"kafka://{traced.settings.bootstrap}")
    letters = dataset("letters", f"kafka://{traced.settings.bootstrap}")
    commits = [{"batch": 0, "offsets": {TOPIC: {str(partition): [0, offset + 1]}}}]
    for job, output in (("sink", dataset(table.name, table.namespace)),
                        (f"sink.{TOPIC}.dead-letters", letters)):  # fmt: skip
        progress = facet(rows=1, sources=[], commits=commits)
        events = (
            run_event("START", run=job, job=job, inputs=[topic], outputs=[output]),
            run_event("RUNNING", run=job, job=job, headwater_progress=progress),
        )
        for event in events:  # after the records were sent
            event["eventTime"] = datetime.now(UTC).isoformat()
            traced.server.api.send(event)
    told = _ask_not(traced, "traced.default.sunk", partition, offset)
    assert (told.outcome, told.operator) == ("dead letter", "decode by its schema")
    assert "it went to the topic letters" in told.reason
    good = _ask_not(traced, "traced.default.sunk", partition, offset - 1)
    assert (good.outcome, good.job, good.batch) == ("unknown", "sink", 0)


def test_a_record_that_nobody_has_read_is_not_read(traced: Traced) -> None:
    partition, offset = send_bytes(traced.settings, None)
    told = _ask_not(traced, ORDERS, partition, offset)
    assert told.outcome == "not read"
    assert "iceberg-ingestion is ABORTED" in told.reason
    told = _ask_not(traced, ORDERS, partition, offset + 1000)
    assert (told.outcome, "the next offset is" in told.reason) == ("missing", True)
    told = _ask_not(traced, ORDERS, 99, 0)
    assert (told.outcome, told.reason) == ("missing", "the topic has the partitions 0, 1")
    told = why_not(traced.spark, traced.client, traced.settings, ORDERS, Record("none", 0, 0))
    assert (told.outcome, "no such topic" in told.reason) == ("missing", True)


def test_offsets_without_their_records_are_told(traced: Traced) -> None:
    """After compaction, and where a topic was deleted and made again."""
    spark, bootstrap, topic = traced.spark, traced.settings.bootstrap, "traced-gaps"
    table = "traced.default.gaps"
    spark.sql(f"CREATE TABLE {table} (order_id STRING) USING iceberg")
    spark.sql(f"INSERT INTO {table} VALUES ('a')")
    before = IcebergTable(spark, table)
    compacted = NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_topics([compacted]).values():
        done.result(60)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "gaps"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"a", key="a")
    producer.commit_transaction(60)  # it takes an offset that holds no record
    commit = {"batch": 0, "snapshot": before.current, "offsets": {topic: {"0": [0, 2]}}}
    progress = facet(rows=1, sources=[], commits=[commit], snapshots=[before.current])
    node = dataset(before.node.name, before.node.namespace)
    read = dataset(topic, f"kafka://{bootstrap}")
    traced.server.api.send(
        run_event("START", 0, run="gaps", job="gaps", inputs=[read], outputs=[node]),
        run_event("RUNNING", 1, run="gaps", job="gaps", headwater_progress=progress),
    )
    told = [why_not(spark, traced.client, traced.settings, table, Record(topic, 0, n))
            for n in (0, 1)]  # fmt: skip
    assert (told[0].outcome, told[0].reason) == ("unknown", NEWER)
    assert (told[1].outcome, "no record at the offset" in told[1].reason) == ("removed", True)
    assert held(spark, bootstrap, topic, {0: (0, 9)}, None).doubts == [MADE_AGAIN]
    (newer, missing) = held(spark, bootstrap, topic, {0: (0, 2)}, "2020-01-01T00:00:00Z").doubts
    assert "newer than the run" in newer
    assert "1 of the offsets" in missing
    assert held(spark, bootstrap, "traced-nothing", {0: (0, 1)}, None).records is None


def test_a_commit_that_nobody_reported_is_unknown(traced: Traced) -> None:
    table = "traced.default.unreported"
    traced.spark.sql(f"CREATE TABLE {table} (id INT) USING iceberg")
    assert _ask_not(traced, table, 0, 5).outcome == "not read"
    traced.spark.sql(f"INSERT INTO {table} VALUES (1)")
    told = _ask_not(traced, table, 0, 5)
    assert (told.outcome, "has reported the snapshot" in told.reason) == ("unknown", True)


class _Refusing:
    """A server whose key may not look into topics."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def ask(self, path: str, **params: Any) -> dict[str, Any]:
        return self._server.ask(path, **params)

    def ask_list(self, path: str, **params: Any) -> list[Any]:
        raise RequestRefused(path, 403, "it needs another scope")


def test_an_equal_row_of_another_commit_is_not_that_of_the_record(traced: Traced) -> None:
    record = _record_of(traced, "o54")
    before = IcebergTable(traced.spark, ORDERS).current
    traced.spark.sql(f"CREATE TABLE traced.default.again AS SELECT * FROM {ORDERS} "
                     "WHERE order_id = 'o54'")  # fmt: skip
    try:
        traced.spark.sql(f"DELETE FROM {ORDERS} WHERE order_id = 'o54'")
        traced.spark.sql(f"INSERT INTO {ORDERS} SELECT * FROM traced.default.again")
        told = _ask_not(traced, ORDERS, record.partition, record.offset)
        assert (told.outcome, "another commit" in told.reason) == ("overwritten", True)
        node = f"dataset:kafka://{traced.settings.bootstrap}:{TOPIC}"
        asked = {"firstOffset": record.offset, "lastOffset": record.offset}
        found = traced.client.ask("reached", nodeId=node, partition=record.partition, **asked)
        span = Span(TOPIC, record.partition, record.offset, record.offset)
        reached = rows_reached(traced.spark, traced.client, traced.settings, found["jobs"], span)
        (orders,) = (one for one in reached if one.table == ORDERS)
        assert (orders.row_count, "deleted or changed" in orders.reason) == (0, True)
    finally:
        table, _, name = ORDERS.partition(".")
        traced.spark.sql(f"CALL {table}.system.rollback_to_snapshot('{name}', {before})")
        traced.spark.sql("DROP TABLE traced.default.again")


def test_a_row_that_is_only_in_the_topic_is_shown_to_those_who_may_read_it(traced: Traced) -> None:
    record = _record_of(traced, "o55")
    before = IcebergTable(traced.spark, ORDERS).current
    traced.spark.sql(f"DELETE FROM {ORDERS} WHERE order_id = 'o55'")
    try:
        told = _ask_not(traced, ORDERS, record.partition, record.offset)
        assert (told.outcome, (told.row or {}).get("order_id")) == ("overwritten", "o55")
        hidden = why_not(traced.spark, _Refusing(traced.client), traced.settings, ORDERS,
                         Record(TOPIC, record.partition, record.offset))  # fmt: skip
        assert (hidden.outcome, hidden.row, hidden.record.message) == ("overwritten", None, None)
    finally:
        traced.spark.sql(f"CALL traced.system.rollback_to_snapshot('default.orders', {before})")


def test_a_job_of_the_same_name_that_writes_another_table_has_no_known_plan() -> None:
    assert stream_plan("iceberg-ingestion", "demo_ib.default.orders") is not None
    assert stream_plan("iceberg-ingestion", "demo_ib.other.orders") is None
    assert table_plan("supplier_stats.overwrite", "demo_ib.default.totals") is None


@pytest.mark.parametrize("seed", range(2))
def test_an_exact_answer_is_what_removing_each_record_tells(spark: SparkSession, seed: int) -> None:
    """The oracle: a record matters to a row if the row is another without it."""
    chosen = random.Random(seed)
    times = [
        f"2026-03-0{chosen.randint(1, 2)} 0{chosen.randint(0, 1)}:{n:02}:00" for n in range(10)
    ]
    rows = [
        (f"o{n}", chosen.choice([0.0, 1.5, None]), chosen.choice(["Bob", "Eve", None]), at)
        for n, at in enumerate(times)
    ]
    orders = spark.createDataFrame(
        rows, "order_id string, price double, supplier string, at string"
    )
    orders = orders.withColumn("price", F.col("price").cast("decimal(10,2)"))
    orders = orders.withColumn("bid_time", F.to_timestamp("at")).cache()
    plan = table_plan("supplier_stats", STATS)
    assert plan is not None
    totals = supplier_hours.hourly(supplier_hours.latest_day(orders)).collect()
    without = reduce(
        DataFrame.unionAll,
        (
            supplier_hours.hourly(
                supplier_hours.latest_day(orders.where(F.col("order_id") != F.lit(row[0])))
            ).withColumn("removed", F.lit(row[0]))
            for row in rows
        ),
    ).collect()
    left = {(row["removed"], tuple(row)[:-1]) for row in without}
    for total in totals:
        truth = {row[0] for row in rows if (row[0], tuple(total)) not in left}
        answer = {row["order_id"] for row in group_of(plan, orders, total).collect()}
        assert answer == truth, total
    assert totals
    orders.unpersist()
