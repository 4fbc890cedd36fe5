"""Rows of tables that other applications write, traced by the plans of these."""

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import headwater
from headwater.capture.classic import Capture
from headwater.errors import DryRunFailed, NothingWritten
from headwater.pipeline import kafka
from headwater.trace.forward import RowsReached, Span, rows_reached
from headwater.trace.given import Given, GivenPlan
from headwater.trace.iceberg import IcebergTable
from headwater.trace.shapes import Records
from headwater.trace.why import why
from pipeline import traced_apps
from pipeline.tracing import ORDERS, STATS, TOPIC, Traced

TOTALS, SIZES = "traced.default.totals", "traced.default.sizes"
WINDOWS = "traced.default.windows"
DAYS, TWICE = "traced.default.days", "traced.default.twice"
DAILY = (
    f"INSERT INTO {{}} SELECT to_date(bid_time) AS day, count(*) AS number FROM {ORDERS} GROUP BY 1"
)
TWO = ";".join(
    f"INSERT INTO {TWICE} SELECT to_date(bid_time), 1L FROM {ORDERS} WHERE order_id = '{order}'"
    for order in ("o1", "o30")
)
AUTUMN = "traced.default.autumn"
CLOCKS_BACK = (
    f"INSERT INTO {AUTUMN} SELECT CASE WHEN order_id = 'o1' THEN TIMESTAMP'2026-10-25T00:40:00Z' "
    f"ELSE TIMESTAMP'2026-10-25T01:40:00Z' END AS at FROM {ORDERS} WHERE order_id IN ('o1', 'o2')"
)
SHARED = "traced.default.shared"
SIZES_QUOTED = "`traced`.`default`.`sizes`"


@pytest.fixture(scope="module")
def given(traced: Traced, tmp_path_factory: pytest.TempPathFactory) -> tuple[Traced, Path]:
    folder, spark = tmp_path_factory.mktemp("given"), traced.spark
    v3 = "USING iceberg TBLPROPERTIES ('format-version' = '3')"
    spark.sql(f"CREATE TABLE {TOTALS} (region STRING, largest DECIMAL(10,2), number BIGINT) {v3}")
    spark.sql(f"CREATE TABLE {SIZES} (partition INT, offset BIGINT, size INT) {v3}")
    spark.sql(f"CREATE TABLE {WINDOWS} (begun TIMESTAMP, number BIGINT) {v3}")
    capture = headwater.attach(spark, url=traced.server.url, spool_dir=str(folder / "spool"))
    assert isinstance(capture, Capture)
    try:
        with capture.part("totals"):
            traced_apps.run_really(traced_apps.BATCH, ORDERS, TOTALS)
        traced_apps.run_really(traced_apps.STREAM, *_stream(traced, folder))
        traced_apps.run_really(traced_apps.WINDOWS, *_windows(traced, folder))
    finally:
        capture.detach()
    for name in ("BATCH", "STREAM", "WINDOWS"):
        (folder / f"{name}.py").write_text(getattr(traced_apps, name))
    return traced, folder


def _stream(traced: Traced, folder: Path) -> list[str]:
    return [traced.settings.bootstrap, TOPIC, SIZES, str(folder / "sizes")]


def _windows(traced: Traced, folder: Path) -> list[str]:
    return [traced.settings.bootstrap, TOPIC, WINDOWS, str(folder / "windows")]


def _records(traced: Traced, table: str, predicate: str, given: Given) -> Records:
    story = why(traced.spark, traced.client, table, predicate, 1, traced.settings, given)
    found = story.rows[0].records
    assert found is not None
    return found


def test_the_plan_of_an_application_leads_to_the_records(
    given: tuple[Traced, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    traced, folder = given
    before = traced.spark.table(TOTALS).count()
    app = Given(f"{folder}/BATCH.py {ORDERS} {TOTALS}", time_zone="UTC")
    found = _records(traced, TOTALS, "region = 'north'", app)
    assert found.exact, found.reason
    expected = {
        one[0] for one in traced.orders
        if one[3] == "Bob" and one[4].isoformat() >= "2026-03-02T01"
    }  # fmt: skip
    assert {row.values["order_id"] for row in found.rows} == expected
    assert {row.records[0].message["order_id"] for row in found.rows} == expected
    (total,) = traced.spark.table(TOTALS).where("region = 'north'").collect()
    assert total["number"] == len(found.rows)
    assert total["largest"] == max(Decimal(row.values["price"]) for row in found.rows)
    assert traced.spark.table(TOTALS).count() == before
    assert "no answer" not in capsys.readouterr().out


def test_sql_gives_the_same_plan(given: tuple[Traced, Path]) -> None:
    traced, folder = given
    app = _records(
        traced,
        TOTALS,
        "region = 'south'",
        Given(f"{folder}/BATCH.py {ORDERS} {TOTALS}", time_zone="UTC"),
    )
    text = traced_apps.SQL.format(ORDERS, TOTALS)
    found = _records(traced, TOTALS, "region = 'south'", Given(sql=text, time_zone="UTC"))
    assert (found.exact, found.rows) == (True, app.rows)
    query = text.partition(TOTALS)[2].replace("max(price)", "max(price) AS largest")
    assert (
        _records(traced, TOTALS, "region = 'south'", Given(sql=query, time_zone="UTC")).rows
        == app.rows
    )


def test_a_stream_of_an_application_is_evaluated_over_the_batch_of_a_row(
    given: tuple[Traced, Path],
) -> None:
    traced, folder = given
    app = Given(" ".join([f"{folder}/STREAM.py", *_stream(traced, folder)]), time_zone="UTC")
    found = _records(traced, SIZES, "partition = 0 AND offset = 2", app)
    assert found.exact, found.reason
    assert [(one.topic, one.partition, one.offset) for one in found.records] == [(TOPIC, 0, 2)]


def test_a_window_is_traced_to_records_of_batches_before_the_one_that_wrote_it(
    given: tuple[Traced, Path],
) -> None:
    traced, folder = given
    app = Given(" ".join([f"{folder}/WINDOWS.py", *_windows(traced, folder)]), time_zone="UTC")
    found = _records(traced, WINDOWS, "begun = timestamp_millis(60000)", app)
    assert found.exact or "retention" in found.reason or "began" in found.reason, found.reason
    places = {(one.partition, one.offset) for one in found.records}
    assert places == {(partition, offset) for partition in (0, 1) for offset in range(6, 12)}
    table = IcebergTable(traced.spark, WINDOWS)
    row = traced.spark.table(WINDOWS).where("begun = timestamp_millis(60000)").collect()[0]
    assert GivenPlan(traced.spark, app).watermark_of(table, row) == "1970-01-01T00:00:50Z"


def _deduplicated(
    given: tuple[Traced, Path], topic: str, table: str, sent: list[tuple[str, str]], text: str
) -> Given:
    """Run a stream that drops duplicates of some messages; give its application."""
    traced, folder = given
    spark, servers = traced.spark, traced.settings.bootstrap
    kafka.ensure_topics(servers, [topic])
    frame = spark.createDataFrame(sent, "key string, value string").coalesce(1)
    writer = frame.write.format("kafka").option("topic", topic)
    writer.option("kafka.bootstrap.servers", servers).save()
    spark.sql(f"CREATE TABLE {table} (name STRING, text STRING, at TIMESTAMP) USING iceberg "
              "TBLPROPERTIES ('format-version' = '3')")  # fmt: skip
    app, arguments = folder / f"{topic}.py", [servers, topic, table, str(folder / topic)]
    app.write_text(text)
    capture = headwater.attach(spark, url=traced.server.url, spool_dir=str(folder / "spool"))
    assert isinstance(capture, Capture)
    try:
        traced_apps.run_really(text, *arguments)
    finally:
        capture.detach()
    return Given(" ".join([str(app), *arguments]), time_zone="UTC")


def test_a_deduplicated_row_is_traced_within_the_batch_that_wrote_it(
    given: tuple[Traced, Path],
) -> None:
    """The oracle: the record with the text of the row, in the first batch that has its name."""
    traced, table = given[0], "traced.default.firsts"
    names = ["a", "b", "a", "c", "a", "d", "b", "d", "e", "e", "f", "a"]
    sent = [(name, f"text {offset}") for offset, name in enumerate(names)]
    app = _deduplicated(given, "traced-firsts", table, sent, traced_apps.FIRSTS)
    batch = {name: offset // 4 for offset, name in reversed([*enumerate(names)])}
    rows = traced.spark.table(table).collect()
    assert {row["name"] for row in rows} == {*names}
    for row in rows:
        # Which of several records of its batch a row is made of, Spark decides.
        truth = next(offset for offset, (_, text) in enumerate(sent) if text == row["text"])
        found = _records(traced, table, f"name = '{row['name']}'", app)
        offsets = {one.offset for one in found.records}
        assert truth in offsets, found.reason
        assert {offset // 4 for offset in offsets} == {batch[row["name"]]}, "another batch"
        assert (found.exact, found.complete) == (False, True), found.reason


def test_a_record_whose_duplicates_come_later_is_not_told_as_the_only_one(
    given: tuple[Traced, Path],
) -> None:
    """Without the record that gave the row, a later duplicate would have given an equal one."""
    table = "traced.default.equals"
    text = traced_apps.FIRSTS.replace(
        'F.col("offset") * 10', 'F.col("partition") + 10_000'
    ).replace('dropDuplicatesWithinWatermark(["name"])', "dropDuplicates()")
    app = _deduplicated(given, "traced-equals", table, [(one, one) for one in "abcdbefg"], text)
    found = _records(given[0], table, "name = 'b'", app)
    assert {one.offset for one in found.records} == {1}, found.reason
    assert (found.exact, found.complete) == (False, True), found.reason


def test_an_application_that_fails_or_writes_another_table_is_told(
    given: tuple[Traced, Path],
) -> None:
    traced, folder = given
    with pytest.raises(NothingWritten, match=r"it writes .*totals"):
        _records(
            traced, SIZES, "true", Given(f"{folder}/BATCH.py {ORDERS} {TOTALS}", time_zone="UTC")
        )
    for text, name in (
        (f"EXECUTE IMMEDIATE 'INSERT INTO {SIZES} SELECT 1, 2L, 3'", "EXECUTE IMMEDIATE"),
        (f"UPDATE {SIZES} SET size = 1", "UPDATE"),
    ):
        with pytest.raises(DryRunFailed, match=f"it uses {name}, which is not executed"):
            _records(traced, SIZES, "true", Given(sql=text))
    with pytest.raises(DryRunFailed, match="TABLE_OR_VIEW_NOT_FOUND"):
        _records(traced, SIZES, "true", Given(f"{folder}/BATCH.py nothing {TOTALS}"))
    with pytest.raises(DryRunFailed, match="not a file"):
        _records(traced, SIZES, "true", Given("nothing.py"))
    with pytest.raises(DryRunFailed, match="quotation"):
        _records(traced, SIZES, "true", Given("'nothing.py"))


@pytest.fixture(scope="module")
def dated(traced: Traced, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """Orders by day, written by a job whose days are those of Berlin; written by two statements."""
    spark = traced.spark
    v3 = "USING iceberg TBLPROPERTIES ('format-version' = '3')"
    for table in (DAYS, TWICE):
        spark.sql(f"CREATE TABLE {table} (day DATE, number BIGINT) {v3}")
    spark.sql(f"CREATE TABLE {AUTUMN} (at TIMESTAMP) {v3}")
    place = tmp_path_factory.mktemp("dated") / "spool"
    capture = headwater.attach(spark, url=traced.server.url, spool_dir=str(place))
    assert isinstance(capture, Capture)
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        with capture.part("dated") as session:
            for text in (DAILY.format(DAYS), *TWO.split(";"), CLOCKS_BACK):
                session.sql(text)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        capture.detach()
    return traced


def _days(traced: Traced) -> set[str]:
    """The orders of the second of March, in Berlin."""
    begin = datetime(2026, 3, 1, 23, tzinfo=UTC)
    return {one[0] for one in traced.orders if begin <= one[4] < begin + timedelta(days=1)}


def test_days_are_those_of_the_job(dated: Traced) -> None:
    text, row = DAILY.format(DAYS), "day = '2026-03-02'"
    found = _records(dated, DAYS, row, Given(sql=text))
    assert (found.exact, found.complete, "time zone" in found.reason) == (False, False, True)
    found = _records(dated, DAYS, row, Given(sql=text, time_zone="Europe/Berlin"))
    assert found.exact, found.reason
    assert {one.values["order_id"] for one in found.rows} == _days(dated)
    found = _records(dated, DAYS, row, Given(sql=text, time_zone="America/New_York"))
    assert (found.exact, found.complete) == (False, False)
    assert dated.spark.conf.get("spark.sql.session.timeZone") == "UTC"


def _write(
    traced: Traced, folder: Path, settings: dict[str, str], *, late: bool, text: str
) -> None:
    """Write with settings of the session that it has from the beginning, or from later on."""
    spark = traced.spark
    before = {name: str(spark.conf.get(name)) for name in settings}
    if late:
        capture = headwater.attach(spark, url=traced.server.url, spool_dir=str(folder / "spool"))
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        if not late:
            capture = headwater.attach(
                spark, url=traced.server.url, spool_dir=str(folder / "spool")
            )
        assert isinstance(capture, Capture)
        spark.sql(text)
        if not late:
            capture.detach()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
        capture.detach()


@pytest.mark.parametrize("late", [False, True])
def test_the_time_zone_that_the_job_reports_is_used_unless_it_has_changed(
    traced: Traced, tmp_path: Path, late: bool
) -> None:
    table = f"{DAYS}_{'late' if late else 'early'}"
    traced.spark.sql(
        f"CREATE TABLE {table} (day DATE, number BIGINT) USING iceberg "
        "TBLPROPERTIES ('format-version' = '3')"
    )
    text = DAILY.format(table)
    zone = {"spark.sql.session.timeZone": "Europe/Berlin"}
    _write(traced, tmp_path, zone, late=late, text=text)
    found = _records(traced, table, "day = '2026-03-02'", Given(sql=text))
    assert found.exact is not late, found.reason
    assert ("time zone" in found.reason) is late
    if not late:
        assert {one.values["order_id"] for one in found.rows} == _days(traced)
    assert traced.spark.conf.get("spark.sql.session.timeZone") == "UTC"


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_casts_are_those_of_the_job(traced: Traced, tmp_path: Path, ansi: str) -> None:
    """Without ANSI mode a text that is no number is NULL; with it, this fails."""
    table = f"{DAYS}_ansi_{ansi}"
    traced.spark.sql(
        f"CREATE TABLE {table} (number INT, orders BIGINT) USING iceberg "
        "TBLPROPERTIES ('format-version' = '3')"
    )
    cast = "try_cast" if ansi == "true" else "cast"
    text = (
        f"INSERT INTO {table} SELECT {cast}(order_id AS INT), count(*) FROM {ORDERS} "
        "WHERE order_id IN ('o1', 'o2') GROUP BY 1"
    )
    _write(traced, tmp_path, {"spark.sql.ansi.enabled": ansi}, late=False, text=text)
    found = _records(traced, table, "number IS NULL", Given(sql=text))
    assert found.exact, found.reason
    assert {one.values["order_id"] for one in found.rows} == {"o1", "o2"}


def test_a_setting_that_is_read_while_a_query_runs_is_doubted(
    traced: Traced, tmp_path: Path
) -> None:
    table = f"{DAYS}_parser"
    traced.spark.sql(
        f"CREATE TABLE {table} (id STRING) USING iceberg TBLPROPERTIES ('format-version' = '3')"
    )
    text = f"INSERT INTO {table} SELECT order_id FROM {ORDERS} WHERE order_id = 'o1'"
    legacy = {"spark.sql.legacy.timeParserPolicy": "LEGACY"}
    _write(traced, tmp_path, legacy, late=False, text=text)
    found = _records(traced, table, "true", Given(sql=text))
    assert (found.exact, "timeParserPolicy = LEGACY" in found.reason) == (False, True)


def test_of_two_writes_into_a_table_the_one_that_gives_the_row_is_followed(dated: Traced) -> None:
    given = Given(sql=TWO, time_zone="Europe/Berlin")
    for day, order in (("2026-03-01", "o1"), ("2026-03-02", "o30")):
        found = _records(dated, TWICE, f"day = '{day}'", given)
        assert found.exact, found.reason
        assert {one.values["order_id"] for one in found.rows} == {order}
    alike = TWO.replace("'o30'", "'o2'")  # of the same day as the other: which of them is it?
    found = _records(dated, TWICE, "day = '2026-03-01'", Given(sql=alike, time_zone="UTC"))
    assert (found.exact, found.complete, "2 plans" in found.reason) == (False, False, True)


def test_columns_that_have_moved_since_are_doubted(dated: Traced) -> None:
    given = Given(sql=TWO, time_zone="Europe/Berlin")
    spark = dated.spark
    spark.sql(f"ALTER TABLE {TWICE} ADD COLUMN more INT")
    try:
        found = _records(dated, TWICE, "day = '2026-03-01'", given)
        assert (found.exact, "columns have changed" in found.reason) == (False, True)
        spark.sql(f"ALTER TABLE {TWICE} RENAME COLUMN number TO amount")
        found = _records(dated, TWICE, "day = '2026-03-01'", given)
        assert (found.exact, found.complete) == (False, False), found.reason
    finally:
        spark.sql(f"ALTER TABLE {TWICE} DROP COLUMN more")


def test_a_row_may_be_of_another_application(dated: Traced, tmp_path: Path) -> None:
    insert = f"INSERT INTO {SHARED} SELECT order_id FROM {ORDERS} WHERE order_id = '{{}}'"
    spark = dated.spark
    spark.sql(
        f"CREATE TABLE {SHARED} (id STRING) USING iceberg TBLPROPERTIES ('format-version'='3')"
    )
    for name, order in (("one", "o1"), ("other", "o2")):
        capture = headwater.attach(spark, url=dated.server.url, spool_dir=str(tmp_path / name))
        assert isinstance(capture, Capture)
        try:
            with capture.part(name) as session:
                session.sql(insert.format(order))
        finally:
            capture.detach()
        found = _records(dated, SHARED, f"id = '{order}'", Given(sql=insert.format(order)))
        assert found.exact == (name == "one"), found.reason
        is_told = "several jobs write the table (one, other)" in found.reason
        assert is_told == (name == "other"), found.reason


def test_an_hour_that_comes_twice_is_told_apart(
    dated: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Europe/Berlin")
        time.tzset()
        for hour, order in (("00", "o1"), ("01", "o2")):
            row = f"at = TIMESTAMP'2026-10-25T{hour}:40:00Z'"
            found = _records(dated, AUTUMN, row, Given(sql=CLOCKS_BACK, time_zone="UTC"))
            assert found.exact, found.reason
            assert {one.values["order_id"] for one in found.rows} == {order}
    time.tzset()


def test_sql_may_be_longer_than_the_name_of_a_file(given: tuple[Traced, Path]) -> None:
    traced, _ = given
    statement = traced_apps.SQL.format(ORDERS, TOTALS).partition(";\n")[2]
    text = " ".join(statement.split()) + " " * 300
    assert _records(traced, TOTALS, "region = 'south'", Given(sql=text, time_zone="UTC")).exact


def test_what_an_application_has_seen_may_be_in_its_rows(given: tuple[Traced, Path]) -> None:
    traced, folder = given
    session = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    app = folder / "looks.py"
    app.write_text(f"{session}spark.table('{ORDERS}').first()\n{traced_apps.BATCH}")
    found = _records(traced, TOTALS, "region = 'north'", Given(f"{app} {ORDERS} {TOTALS}"))
    assert (found.exact, found.complete, "looked" in found.reason) == (False, False, True)
    app.write_text(
        f"{session}rows = spark.table('{TOTALS}')\n"
        f"spark.createDataFrame(rows.rdd.map(tuple), rows.schema).writeTo('{TOTALS}').append()\n"
    )
    found = _records(traced, TOTALS, "region = 'north'", Given(str(app)))
    assert (found.exact, found.complete, found.records) == (False, False, [])


def _reached(traced: Traced, given: Given | None = None) -> dict[str, RowsReached]:
    """The rows that records 2 to 5 of the first partition reached, by table."""
    node = f"dataset:kafka://{traced.settings.bootstrap}:{TOPIC}"
    told = traced.client.ask("reached", nodeId=node, partition=0, firstOffset=2, lastOffset=5)
    span = Span(TOPIC, 0, 2, 5)
    found = rows_reached(traced.spark, traced.client, traced.settings, told["jobs"], span, given)
    return {str(one.table): one for one in found}


def test_records_are_followed_to_the_rows_that_hold_them(given: tuple[Traced, Path]) -> None:
    traced, _ = given
    raw = kafka.read_range(traced.spark, traced.settings.bootstrap, TOPIC, {0: (2, 6)})
    ids = {bytes(row["key"]).decode() for row in raw.select("key").collect()} - {"odd"}
    found = _reached(traced)
    orders = found[ORDERS]
    assert (orders.exact, orders.row_count) == (True, len(ids)), orders.reason
    assert {row["order_id"] for row in orders.rows} == ids
    groups = {
        (one[3], one[4].hour) for one in traced.orders
        if one[0] in ids and one[4].date().isoformat() == "2026-03-02"
    }  # fmt: skip
    stats = found[STATS]
    assert stats.exact, stats.reason
    assert {(row["supplier"], row["bid_hour"]) for row in stats.rows} == groups
    assert (found["None"].row_count, "--app" in found["None"].reason) == (None, True)


def test_a_given_plan_follows_records_to_rows(given: tuple[Traced, Path]) -> None:
    traced, folder = given
    app = Given(" ".join([f"{folder}/STREAM.py", *_stream(traced, folder)]), time_zone="UTC")
    sizes = _reached(traced, app)[SIZES_QUOTED]
    assert sizes.exact, sizes.reason
    assert {(row["partition"], row["offset"]) for row in sizes.rows} == {(0, 2), (0, 4)}


def test_a_given_plan_that_cannot_be_followed_tells_no_rows(given: tuple[Traced, Path]) -> None:
    traced, folder = given
    batch = Given(f"{folder}/BATCH.py {ORDERS} {TOTALS}", time_zone="UTC")
    totals = _reached(traced, batch)["`traced`.`default`.`totals`"]
    assert (totals.row_count, totals.exact, "tables" in totals.reason) == (None, False, True)
    size = 'F.length("value")'
    for name, other in (("other", f"(1 + {size})"), ("any", f"(F.rand() + {size}).cast('int')")):
        app = folder / f"{name}.py"
        app.write_text(traced_apps.STREAM.replace(size, other))
        sizes = _reached(
            traced, Given(" ".join([str(app), *_stream(traced, folder)]), time_zone="UTC")
        )
        assert (sizes[SIZES_QUOTED].row_count, sizes[SIZES_QUOTED].exact) == (None, False), name
