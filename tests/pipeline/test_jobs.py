"""The jobs' transformations, on bounded frames with exact rows."""

from datetime import UTC, date, datetime
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

from headwater.pipeline.jobs.iceberg_ingestion import fitting, priced
from headwater.pipeline.jobs.lineage_archive import archived
from headwater.pipeline.jobs.supplier_hours import hourly, latest_day
from headwater.pipeline.jobs.supplier_windows import per_supplier


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def orders(spark: SparkSession, *rows: tuple[str, float, str]) -> DataFrame:
    """Orders by supplier, price and time."""
    full = [
        (f"o{number}", "Lamp", price, supplier, at(moment))
        for number, (supplier, price, moment) in enumerate(rows)
    ]
    return spark.createDataFrame(
        full,
        "order_id string, item string, price double, supplier string, bid_time timestamp",
    )


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def local(text: str) -> datetime:
    """As Spark hands a timestamp to Python: in this machine's zone, and without it."""
    return at(text).astimezone().replace(tzinfo=None)


def test_windows_hold_their_start_and_not_their_end(spark: SparkSession) -> None:
    frame = orders(
        spark,
        ("Bob", 1.10, "2026-01-01 00:00:00"),
        ("Bob", 2.20, "2026-01-01 00:00:04.999"),
        ("Bob", 4.00, "2026-01-01 00:00:05"),
        ("Eve", 8.00, "2026-01-01 00:00:03"),
    )
    first, second, third = (local(f"2026-01-01 00:00:{s}") for s in ("00", "05", "10"))
    assert per_supplier(frame).columns == [
        *("window_start", "window_end", "supplier", "total_price", "count"),
    ]
    assert rows(per_supplier(frame)) == [
        (first, second, "Bob", 3.3, 2),
        (first, second, "Eve", 8.0, 1),
        (second, third, "Bob", 4.0, 1),
    ]


def test_ingestion_rounds_prices_to_cents(spark: SparkSession) -> None:
    frame = priced(orders(spark, ("Bob", 12.345, "2026-01-01"), ("Bob", 7.0, "2026-01-01")))
    assert [row.price for row in frame.collect()] == [Decimal("12.35"), Decimal("7.00")]


def test_hourly_totals_are_of_the_latest_day_only(spark: SparkSession) -> None:
    frame = priced(
        orders(
            spark,
            ("Bob", 100.0, "2026-01-01 23:59:59.999"),
            ("Bob", 1.10, "2026-01-02 00:00:00"),
            ("Bob", 2.20, "2026-01-02 00:59:59"),
            ("Eve", 3.30, "2026-01-02 00:10:00"),
            ("Bob", 4.40, "2026-01-02 01:00:00"),
        )
    )
    day = date(2026, 1, 2)
    assert rows(hourly(latest_day(frame))) == [
        (day, 0, "Bob", Decimal("3.30"), 2),
        (day, 0, "Eve", Decimal("3.30"), 1),
        (day, 1, "Bob", Decimal("4.40"), 1),
    ]


def test_the_archive_keeps_what_is_no_event(spark: SparkSession) -> None:
    event = (
        '{"eventTime":"2026-01-02T03:04:05Z","eventType":"START","producer":"p",'
        '"run":{"runId":"r"},"job":{"namespace":"n","name":"j"}}'
    )
    sent = at("2026-01-03 00:00:00")
    frame = spark.createDataFrame(
        [(bytearray(event.encode()), sent), (bytearray(b"no event"), sent)],
        "value binary, timestamp timestamp",
    )
    nothing = (None,) * 5
    assert {tuple(row) for row in archived(frame).collect()} == {
        (local("2026-01-02 03:04:05"), "START", "r", "n", "j", "p", event),
        (local("2026-01-03 00:00:00"), *nothing, "no event"),
    }


def test_an_order_whose_price_the_table_cannot_hold_is_tolerated(spark: SparkSession) -> None:
    prices = (1.005, float("nan"), 1e12, -1e12, 99_999_999.994, 99_999_999.995, float("inf"))
    frame = orders(spark, *(("a", price, "2026-03-01 00:00:00") for price in prices))
    found = {row.order_id: row.price for row in priced(fitting(frame)).collect()}
    assert {*found} == {"o0", "o1", "o4"}
    assert (found["o1"], found["o4"]) == (None, Decimal("99999999.99"))
