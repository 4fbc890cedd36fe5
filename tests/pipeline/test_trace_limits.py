"""What tracing cannot know or hold: replaced topics, jobs of one name, values beyond Python's."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import functions as F

import headwater
from headwater.capture.classic import Capture
from headwater.cli.client import Client
from headwater.pipeline import kafka
from headwater.pipeline.jobs import lineage_archive, supplier_hours
from headwater.pipeline.settings import Settings
from headwater.trace.collecting import SparkText, collected
from headwater.trace.forward import RowsReached, Span, rows_reached
from headwater.trace.given import Given
from headwater.trace.iceberg import IcebergTable
from headwater.trace.ranges import NEWER, held
from headwater.trace.shapes import Record
from headwater.trace.values import in_utc, shown
from headwater.trace.why import why
from headwater.trace.why_not import why_not
from pipeline import traced_apps
from pipeline.tracing import ORDERS, STATS, TOPIC, Traced
from server.events import dataset, facet, run_event

# Its second partition is empty.
STREAM = traced_apps.STREAM.replace('"1": 1}', '"1": 0}')
V3 = "USING iceberg TBLPROPERTIES ('format-version' = '3')"
_HOUR = 3600_000


def _topic(
    traced: Traced, name: str, ages_ms: list[int], texts: Sequence[str] = "0123456789"
) -> None:
    """A topic with a record of each age."""
    bootstrap = traced.settings.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, 2, 1)]).values():
        made.result(60)
    _send(traced, name, ages_ms, texts)


def _send(
    traced: Traced, name: str, ages_ms: list[int], texts: Sequence[str] = "0123456789"
) -> None:
    """Send records to a topic."""
    producer = Producer({"bootstrap.servers": traced.settings.bootstrap})
    now = int(time.time() * 1000)
    for text, age in zip(texts, ages_ms, strict=False):
        producer.produce(name, text.encode(), partition=0, timestamp=now - age)
    assert producer.flush(60) == 0


def _sent(
    traced: Traced, table: str, topic: str, offsets: list[int], at: datetime,
    job: str = "sink", namespace: str = "jobs",
) -> None:  # fmt: skip
    """Report that a run of a job read offsets of a topic into the snapshot that a table has."""
    own = IcebergTable(traced.spark, table)
    commit = {"batch": 0, "snapshot": own.current, "offsets": {topic: {"0": offsets}}}
    source = {"startOffset": {topic: {"0": offsets[0]}}, "endOffset": {topic: {"0": offsets[1]}}}
    progress = facet(rows=1, sources=[source], commits=[commit], snapshots=[own.current])
    node = dataset(own.node.name, own.node.namespace)
    read = dataset(topic, f"kafka://{traced.settings.bootstrap}")
    run = f"{namespace}.{job}.{table}"
    for kind, more in (
        ("START", {"inputs": [read], "outputs": [node]}),
        ("RUNNING", {"headwater_progress": progress}),
    ):
        event = run_event(kind, run=run, job=job, **more)
        event["job"]["namespace"] = namespace
        event["eventTime"] = at.isoformat().replace("+00:00", "Z")
        traced.server.api.send(event)


def _rows(
    traced: Traced, topic: str, span: tuple[int, int], settings: Settings, given: Given | None
) -> list[RowsReached]:
    node = f"dataset:kafka://{traced.settings.bootstrap}:{topic}"
    asked = {"partition": 0, "firstOffset": span[0], "lastOffset": span[1]}
    jobs = traced.client.ask("reached", nodeId=node, **asked)["jobs"]
    return rows_reached(traced.spark, traced.client, settings, jobs, Span(topic, 0, *span), given)


def _catalog(traced: Traced, name: str, folder: Path) -> Settings:
    """Settings with a catalog that has a table of the pipeline of its own."""
    prefix, spark = f"spark.sql.catalog.{name}", traced.spark
    spark.conf.set(f"{prefix}.type", "hadoop")
    spark.conf.set(f"{prefix}.warehouse", str(folder))
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    spark.sql(f"CREATE TABLE {name}.{lineage_archive.TABLE} ({lineage_archive.COLUMNS}) {V3}")
    return msgspec.structs.replace(traced.settings, catalog=name)


def _archived(traced: Traced, name: str) -> str:
    """Write what `lineage-archive` makes of a topic into the table of a catalog."""
    bootstrap = traced.settings.bootstrap
    ranges = {0: kafka.held_offsets(bootstrap, name)[0]}
    records = kafka.read_range(traced.spark, bootstrap, name, ranges)
    table = f"{name}.{lineage_archive.TABLE}"
    lineage_archive.archived(records).writeTo(table).append()
    return table


@pytest.mark.parametrize("offsets", [[0, 2], [3, 5]])
def test_records_of_a_topic_that_was_created_again_are_not_those_that_were_read(
    traced: Traced, tmp_path: Path, offsets: list[int]
) -> None:
    """Wherever records are read: by the pipeline's plans, a given plan, and for one record."""
    name = f"replaced{offsets[0]}"
    settings = _catalog(traced, name, tmp_path)
    sizes = f"{name}.default.sizes"
    traced.spark.sql(f"CREATE TABLE {sizes} (partition INT, offset BIGINT, size INT) {V3}")
    traced.spark.sql(f"INSERT INTO {sizes} VALUES (0, {offsets[0]}, 1)")
    _topic(traced, name, [0] * 6)
    events = _archived(traced, name)
    before = datetime.now(UTC) - timedelta(hours=1)
    _sent(traced, events, name, offsets, before, "lineage-archive", name)
    _sent(traced, sizes, name, offsets, before, "sizes", name)
    app = tmp_path / "app.py"
    app.write_text(STREAM)
    given = Given(f"{app} {settings.bootstrap} {name} {sizes} {tmp_path}/place", time_zone="UTC")
    span = (offsets[0], offsets[1] - 1)
    for plan, count in ((None, 1), (given, 2)):
        found = [one for one in _rows(traced, name, span, settings, plan) if one.table is not None]
        assert [(one.row_count, one.exact, one.reason) for one in found] == (
            [(None, False, NEWER)] * count
        )
    bootstrap, ranges = settings.bootstrap, {0: (offsets[0], offsets[1])}
    assert held(traced.spark, bootstrap, name, ranges, before.isoformat()).doubts == [NEWER]
    traced.spark.sql(f"CALL {name}.system.rewrite_data_files('lineage.events', options => "
                     "map('rewrite-all', 'true'))")  # fmt: skip
    traced.spark.sql(f"CALL {name}.system.expire_snapshots('lineage.events', "
                     "TIMESTAMP '2100-01-01 00:00:00', 1)")  # fmt: skip
    record = Record(name, 0, offsets[0])
    told = why_not(traced.spark, traced.client, settings, events, record)
    assert (told.outcome, told.reason) == ("unknown", NEWER)


def test_a_clock_that_is_ahead_is_not_taken_for_another_topic(
    traced: Traced, tmp_path: Path
) -> None:
    settings = _catalog(traced, "ahead", tmp_path)
    _topic(traced, "ahead", [_HOUR, -_HOUR, _HOUR])
    table = _archived(traced, "ahead")
    _sent(traced, table, "ahead", [0, 3], datetime.now(UTC), "lineage-archive")
    told = [
        why_not(traced.spark, traced.client, settings, table, Record("ahead", 0, n))
        for n in range(3)
    ]
    assert [one.outcome for one in told] == ["written", "unknown", "written"]
    assert (told[1].reason, "or clocks differ" in NEWER) == (NEWER, True)
    bootstrap, now = settings.bootstrap, datetime.now(UTC).isoformat()
    doubts = [held(traced.spark, bootstrap, "ahead", {0: (n, n + 1)}, now).doubts for n in range(3)]
    assert doubts == [[], [NEWER], []]


def test_a_plan_of_the_pipeline_is_not_that_of_a_namesake(traced: Traced, tmp_path: Path) -> None:
    """Jobs of one name in two namespaces write one table: no plan is known to be of either."""
    settings, now = _catalog(traced, "shared", tmp_path), datetime.now(UTC)
    _topic(traced, "shared", [_HOUR] * 3)
    table = _archived(traced, "shared")
    for namespace in ("production", "testing"):
        _sent(traced, table, "shared", [0, 3], now, "lineage-archive", namespace)
        found = _rows(traced, "shared", (0, 1), settings, None)
        told = why_not(traced.spark, traced.client, settings, table, Record("shared", 0, 0))
        story = why(traced.spark, traced.client, table, "event = '1'", 1, settings)
        records = story.rows[0].records
        assert records is not None
        reasons = [*(one.reason for one in found), told.reason, records.reason]
        is_told = ["several namespaces (production, testing)" in one for one in reasons]
        assert is_told == [namespace == "testing"] * len(reasons), reasons


def test_applications_of_one_name_in_two_namespaces_are_told_apart(
    traced: Traced, tmp_path: Path
) -> None:
    table = "traced.default.two_spaces"
    insert = f"INSERT INTO {table} SELECT order_id FROM {ORDERS} WHERE order_id = '{{}}'"
    traced.spark.sql(f"CREATE TABLE {table} (id STRING) {V3}")
    for space, order in (("here", "o1"), ("there", "o2")):
        with (
            _captured(traced, tmp_path / space, namespace=space) as capture,
            capture.part("copy") as session,
        ):
            session.sql(insert.format(order))
        given = Given(sql=insert.format(order))
        story = why(
            traced.spark, traced.client, table, f"id = '{order}'", 1, traced.settings, given
        )
        found = story.rows[0].records
        assert found is not None
        assert found.exact == (space == "here"), found.reason
        is_told = "several jobs write the table (copy of here, copy of there)" in found.reason
        assert is_told == (space == "there"), found.reason


@contextmanager
def _captured(traced: Traced, folder: Path, **settings: Any) -> Iterator[Capture]:
    capture = headwater.attach(
        traced.spark, url=traced.server.url, spool_dir=str(folder), **settings
    )
    assert isinstance(capture, Capture)
    try:
        yield capture
    finally:
        capture.detach()


def test_an_application_that_writes_elsewhere_too_is_followed_to_its_tables(
    traced: Traced, tmp_path: Path
) -> None:
    """Besides its table it writes a topic, files, and a database."""
    table, topic = "traced.default.beside", "beside"
    _topic(traced, topic, [_HOUR] * 6)
    traced.spark.sql(f"CREATE TABLE {table} (partition INT, offset BIGINT, size INT) {V3}")
    app = tmp_path / "app.py"
    app.write_text(STREAM)
    bootstrap = traced.settings.bootstrap
    arguments = [bootstrap, topic, table, f"{tmp_path}/place"]
    with _captured(traced, tmp_path / "spool"):
        traced_apps.run_really(app.read_text(), *arguments)
    app.write_text(
        f"{STREAM}\n"
        "(records.writeStream.format('kafka').option('kafka.bootstrap.servers', servers)"
        ".option('topic', 't1-out').option('checkpointLocation', place + '2').start())\n"
        f"records.writeStream.format('parquet').start('out', checkpointLocation=place + '3')\n"
        "rows = spark.range(3)\n"
        "rows.write.parquet('plain')\n"
        "rows.write.jdbc('jdbc:postgresql://localhost/x', 'public.t', properties={})\n"
        "rows.write.jdbc('jdbc:postgresql://localhost/x', '(a b)', properties={})\n"
    )
    given = Given(" ".join([str(app), *arguments]), time_zone="UTC")
    (found,) = _rows(traced, topic, (1, 4), traced.settings, given)
    assert (found.row_count, found.exact) == (2, True), found.reason
    assert {row["offset"] for row in found.rows} == {2, 4}


VALUES = (
    "DATE'+12345-01-01' AS day, DATE'2026-03-01' AS other, TIMESTAMP'+12345-01-01 10:00:00Z' AS at",
    "TIMESTAMP_NTZ'+12345-01-01 10:00:00.5' AS local",
    "CAST(12345678901234567890.123456789 AS DECIMAL(38, 9)) AS amount",
    "named_struct('a', DATE'-0044-03-15', 'b', array(TIMESTAMP'0001-01-01 00:00:00Z')) AS nested",
    "array(CAST(NULL AS DATE), DATE'9999-12-31') AS days",
    "map('x', named_struct('d.e', DATE'-0044-03-15')) AS named",
    "map(DATE'2026-03-01', TIMESTAMP'2026-03-01 00:00:00Z') AS fine, CAST(NULL AS DATE) AS nothing",
)
SHOWN = {
    "day": "+12345-01-01",
    "other": "2026-03-01",
    "at": "+12345-01-01 10:00:00",
    "local": "+12345-01-01 10:00:00.5",
    "amount": "12345678901234567890.123456789",
    "nested": "{-0044-03-15, [0001-01-01 00:00:00]}",
    "days": [None, "9999-12-31"],
    "named": "{x -> {-0044-03-15}}",
    "fine": {"2026-03-01": "2026-03-01T00:00:00Z"},
    "nothing": None,
}


def test_values_that_python_cannot_hold_are_shown_as_spark_prints_them(
    traced: Traced, tmp_path: Path
) -> None:
    spark, table, copy = traced.spark, "traced.default.odd", "traced.default.odd_copy"
    spark.sql(f"CREATE TABLE {table} {V3} AS SELECT 1 AS id, {', '.join(VALUES)}")
    spark.sql(f"CREATE TABLE {copy} {V3} AS SELECT * FROM {table} WHERE false")
    statement = f"INSERT INTO {copy} SELECT * FROM {table}"
    with _captured(traced, tmp_path) as capture, capture.part("odd") as session:
        session.sql(statement)
    story = why(spark, traced.client, table, "id = 1", 1, traced.settings)
    assert story.rows[0].values == {"id": 1, **SHOWN}
    given = Given(sql=statement, time_zone="UTC")
    story = why(spark, traced.client, copy, "year(day) = 12345", 1, traced.settings, given)
    assert story.rows[0].values == {"id": 1, **SHOWN}
    assert msgspec.json.decode(msgspec.json.encode(story))["rows"][0]["values"] == {
        "id": 1,
        **SHOWN,
    }
    found = story.rows[0].records
    assert found is not None
    assert [row.values for row in found.rows] in ([], [{"id": 1, **SHOWN}])
    assert not found.exact or found.rows


def test_days_before_the_gregorian_calendar_keep_their_dates(
    traced: Traced, tmp_path: Path
) -> None:
    """A day of the other calendar is another row here: 10 days off in 1500, 2 in year 1."""
    spark, table, copy = traced.spark, "traced.default.old", "traced.default.old_copy"
    days = [f"{year}-{day}" for year in ("0002", "1500", "1582") for day in (
        "01-01", "01-03", "01-05", "06-15", "06-25", "10-04", "10-10", "10-15")]  # fmt: skip
    values = ", ".join(
        f"({n}, DATE'{day}', TIMESTAMP'{day} 12:00:00.5Z', TIMESTAMP_NTZ'{day} 12:00:00.5')"
        for n, day in enumerate(days)
    )
    spark.sql(f"CREATE TABLE {table} (id INT, d DATE, at TIMESTAMP, n TIMESTAMP_NTZ) {V3}")
    spark.sql(
        f"CREATE TABLE {copy} (d DATE, at TIMESTAMP, n TIMESTAMP_NTZ, s STRUCT<a: TIMESTAMP>) {V3}"
    )
    statement = f"INSERT INTO {copy} SELECT d, at, n, named_struct('a', at) FROM {table}"
    with _captured(traced, tmp_path) as capture, capture.part("old") as session:
        session.sql(f"INSERT INTO {table} VALUES {values}")
        session.sql(statement)
    given = Given(sql=statement, time_zone="UTC")
    for number, day in enumerate(days):
        story = why(spark, traced.client, copy, f"d = DATE'{day}'", 1, traced.settings, given)
        found = story.rows[0].records
        assert found is not None
        assert [row.values["id"] for row in found.rows] == [number], day


def test_records_reach_rows_that_python_cannot_hold(traced: Traced, tmp_path: Path) -> None:
    table, topic = "traced.default.far", "far"
    _topic(traced, topic, [_HOUR] * 6)
    traced.spark.sql(
        f"CREATE TABLE {table} (partition INT, offset BIGINT, size INT, day DATE) {V3}"
    )
    app = tmp_path / "app.py"
    far = '.withColumn("day", F.expr("date_add(DATE\'9999-12-28\', CAST(offset AS INT))"))'
    app.write_text(STREAM.replace('offset % 2 = 0")', f'offset % 2 = 0"){far}'))
    arguments = [traced.settings.bootstrap, topic, table, f"{tmp_path}/place"]
    with _captured(traced, tmp_path / "spool"):
        traced_apps.run_really(app.read_text(), *arguments)
    given = Given(" ".join([str(app), *arguments]), time_zone="UTC")
    (found,) = _rows(traced, topic, (1, 5), traced.settings, given)
    assert (found.row_count, found.exact) == (2, True), found.reason
    assert {row["day"] for row in found.rows} == {"9999-12-30", "+10000-01-01"}


def test_records_with_values_that_python_cannot_hold_are_followed(
    traced: Traced, tmp_path: Path
) -> None:
    settings = _catalog(traced, "late", tmp_path)
    texts = [f'{{"eventTime": "+12345-01-0{day}T00:00:00Z"}}' for day in (1, 2, 3)]
    texts.append('{"eventTime": "2026-01-04T00:00:00Z"}')
    _topic(traced, "late", [_HOUR] * 4, texts)
    table = _archived(traced, "late")
    _sent(traced, table, "late", [0, 4], datetime.now(UTC), "lineage-archive")
    told = why_not(traced.spark, traced.client, settings, table, Record("late", 0, 1))
    assert told.outcome == "written", told.reason
    (found,) = _rows(traced, "late", (1, 1), settings, None)
    assert (found.row_count, found.exact) == (1, True), found.reason
    assert found.rows[0]["event_time"] == "+12345-01-02 00:00:00"
    story = why(traced.spark, traced.client, table, f"event = '{texts[1]}'", 1, settings)
    assert story.rows[0].values["event_time"] == "+12345-01-02 00:00:00"
    records = story.rows[0].records
    assert records is not None
    assert not records.exact or [one.offset for one in records.records] == [1]
    story = why(traced.spark, traced.client, table, "true", 4, settings)
    (plain,) = [row.records for row in story.rows if row.values["event"] == texts[3]]
    assert plain is not None
    assert plain.exact, plain.reason
    assert [one.offset for one in plain.records] == [3]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date"])
@in_utc()
def test_only_what_python_cannot_hold_becomes_text(traced: Traced, kind: str) -> None:
    """Around both ends of what Python holds, day by day."""
    days = [-719_162, 2_932_896]  # of the first and the last day
    ends = [day + step for day in days for step in range(-4, 5)]
    numbers = traced.spark.createDataFrame([(day,) for day in ends], "n int")
    text = "date_add(DATE'1970-01-01', n)"
    frame = numbers.select(F.expr(text).cast(kind).alias("value"), F.expr(text).cast("string"))
    for day, (value, printed) in zip(ends, collected(frame), strict=True):
        is_inside = days[0] + 2 <= day <= days[1] - 2
        if is_inside:
            assert not isinstance(value, SparkText)
        if isinstance(value, SparkText):
            assert value == (printed if kind == "date" else f"{printed} 00:00:00")
        else:
            assert str(shown(value)).startswith(str(printed))


def test_a_read_after_a_rollback_and_one_of_an_increment_are_not_exact(
    traced: Traced, tmp_path: Path
) -> None:
    """A stream commits twice, the second commit is rolled back, and the stream goes on."""
    table, topic, spark = "traced.default.rolled", "rolled", traced.spark
    spark.sql(f"CREATE TABLE {table} (partition INT, offset BIGINT, size INT) {V3}")
    for copy in ("whole", "part"):
        spark.sql(f"CREATE TABLE traced.default.rolled_{copy} (offset BIGINT) {V3}")
    _topic(traced, topic, [_HOUR] * 4)
    arguments = [traced.settings.bootstrap, topic, table, f"{tmp_path}/place"]
    first = ""
    with _captured(traced, tmp_path / "spool") as capture:
        for batch in range(3):
            traced_apps.run_really(STREAM, *arguments)
            if batch == 0:
                first = str(IcebergTable(spark, table).current)
            elif batch == 1:
                spark.sql(f"CALL traced.system.rollback_to_snapshot('default.rolled', {first})")
            _send(traced, topic, [_HOUR] * 4)
        with capture.part("whole") as session:
            session.table(table).select("offset").writeTo("traced.default.rolled_whole").append()
        with capture.part("part") as session:
            since = session.read.option("start-snapshot-id", first).table(table)
            since.select("offset").writeTo("traced.default.rolled_part").append()
    node = f"dataset:kafka://{traced.settings.bootstrap}:{topic}"
    told = []
    for batch in range(3):
        asked = {"partition": 0, "firstOffset": 4 * batch + 1, "lastOffset": 4 * batch + 3}
        jobs = traced.client.ask("reached", nodeId=node, **asked)["jobs"]
        told.append({job["name"].partition(".")[0]: job["exact"] for job in jobs})
    assert [one["whole"] for one in told] == [True, False, True]
    assert [one["part"] for one in told] == [False, False, False]


def test_columns_of_any_name_are_followed(traced: Traced, tmp_path: Path) -> None:
    table, topic = "traced.default.names", "names"
    names = ["a.b", "x`y", "_has", "_made", "has", "made", "c0", "_number"]
    more = ", ".join(f"`{name.replace('`', '``')}` INT" for name in names)
    columns = f"partition INT, offset BIGINT, size INT, {more}"
    traced.spark.sql(f"CREATE TABLE {table} ({columns}) {V3}")
    _topic(traced, topic, [_HOUR] * 6)
    app = tmp_path / "app.py"
    added = f".withColumns({{name: F.lit(1) for name in {names}}})"
    app.write_text(STREAM.replace('offset % 2 = 0")', f'offset % 2 = 0"){added}'))
    arguments = [traced.settings.bootstrap, topic, table, f"{tmp_path}/place"]
    with _captured(traced, tmp_path / "spool"):
        traced_apps.run_really(app.read_text(), *arguments)
    given = Given(" ".join([str(app), *arguments]), time_zone="UTC")
    (found,) = _rows(traced, topic, (1, 4), traced.settings, given)
    assert (found.row_count, found.exact) == (2, True), found.reason
    story = why(traced.spark, traced.client, table, "offset = 2", 1, traced.settings, given)
    records = story.rows[0].records
    assert records is not None
    assert records.exact, records.reason
    assert [one.offset for one in records.records] == [2]


def test_a_group_of_rows_that_several_records_give_is_a_superset(
    traced: Traced, tmp_path: Path
) -> None:
    settings = _catalog(traced, "twins", tmp_path / "warehouse")
    _topic(traced, "twins", [_HOUR] * 4, ["same", "other", "same", "more"])
    events, table = _archived(traced, "twins"), "twins.default.counts"
    _sent(traced, events, "twins", [0, 4], datetime.now(UTC), "lineage-archive")
    traced.spark.sql(f"CREATE TABLE {table} (event STRING, number BIGINT) {V3}")
    text = f"INSERT INTO {table} SELECT event, count(*) FROM {events} GROUP BY event"
    with _captured(traced, tmp_path / "spool") as capture, capture.part("counts") as session:
        session.sql(text)
    given = Given(sql=text, time_zone="UTC")
    for event, offsets in (("same", [0, 2]), ("other", [1])):
        asked = f"event = '{event}'"
        story = why(traced.spark, traced.client, table, asked, 1, settings, given)
        found = story.rows[0].records
        assert found is not None
        told = [[record.offset for record in row.records] for row in found.rows]
        assert told == [offsets] * len(offsets)
        assert (found.exact, found.complete) == (len(offsets) == 1, True), found.reason


class _Told:
    """A server by which a run had another time zone."""

    def __init__(self, server: Client, zone: str | None) -> None:
        self._server, self._zone = server, zone
        self.ask_list = server.ask_list

    def ask(self, path: str, **params: Any) -> dict[str, Any]:
        told = self._server.ask(path, **params)
        for write in told.get("writes", ()):
            if write["name"].startswith("supplier_stats") and self._zone is not None:
                write["settings"] = {"spark.sql.session.timeZone": self._zone}
            elif write["name"].startswith("supplier_stats"):
                write["settings"] = {}
        return told


def test_the_groups_of_a_job_are_those_of_its_time_zone(traced: Traced, tmp_path: Path) -> None:
    """All orders are of one day in New York, and of two in UTC."""
    spark, settings, zone = traced.spark, traced.settings, "America/New_York"
    before = IcebergTable(spark, STATS).current
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        with _captured(traced, tmp_path) as capture, capture.part("supplier_stats") as session:
            supplier_hours.run(session, settings)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    story = why(spark, traced.client, ORDERS, "order_id = 'o0'", 1, settings)
    assert story.rows[0].records is not None
    (record,) = story.rows[0].records.records
    span = Span(TOPIC, record.partition, record.offset, record.offset)
    node = f"dataset:kafka://{settings.bootstrap}:{TOPIC}"
    asked = {"firstOffset": span.first, "lastOffset": span.last}
    jobs = traced.client.ask("reached", nodeId=node, partition=record.partition, **asked)["jobs"]
    expected = {"bid_date": "2026-03-01", "bid_hour": 17, "supplier": "Bob"}
    try:
        for server, is_known in (
            (traced.client, True),
            (_Told(traced.client, "Asia/Tokyo"), False),
            (_Told(traced.client, None), False),
        ):
            missed = why_not(spark, server, settings, STATS, record)
            assert missed.outcome == ("written" if is_known else "unknown"), missed.reason
            reached = rows_reached(spark, server, settings, jobs, span)
            (found,) = (one for one in reached if one.table == STATS)
            assert (found.row_count, found.exact) == ((1, True) if is_known else (None, False))
            text = "bid_hour = 17 AND supplier = 'Bob'"
            traced_row = why(spark, server, STATS, text, 1, settings).rows[0].records
            assert traced_row is not None
            assert (traced_row.exact, traced_row.complete) == (is_known, is_known)
            if is_known:
                assert missed.row is not None
                for row in (missed.row, found.rows[0]):
                    assert {name: row[name] for name in expected} == expected
                assert "o0" in {row.values["order_id"] for row in traced_row.rows}
            else:
                for reason in (missed.reason, found.reason, traced_row.reason):
                    assert "do not give" in reason or "time zone" in reason
    finally:
        name = STATS.partition(".")[2]
        spark.sql(f"CALL traced.system.rollback_to_snapshot('{name}', {before})")
