"""Dates and partitions at the end of a folder's name, as OpenLineage's Java client trims them."""

import pytest

from headwater.capture.datasets.naming import Dataset, Symlink, location
from headwater.capture.datasets.trimming import enabled_trimmers, merge, trim, trim_name

ALL = enabled_trimmers("")


@pytest.mark.parametrize(
    ("name", "trimmed"),
    [
        ("raw/dt=2026-01-01", "raw"),
        ("/data/raw/dt=2026-01-01/hour=05", "/data/raw"),
        ("raw/2026-01-01", "raw"),
        ("raw/20260101", "raw"),
        ("raw/31.01.2026", "raw"),
        ("raw/20260722T901Z", "raw"),
        ("raw/2026-07-22T09:01:00.000Z", "raw"),
        ("raw/2026/01/31", "raw"),
        ("/raw/2026/01", "/raw"),
        ("raw/2026-01", "raw"),
        ("raw/202601", "raw"),
        ("raw/country=NL/2026/01/31/part=3", "raw"),
        ("raw/2026-25-01", "raw/2026-25-01"),
        ("raw/202633", "raw/202633"),
        ("raw/20260101-orders", "raw/20260101-orders"),
        ("raw/a=b=c", "raw/a=b=c"),
        ("raw/v2", "raw/v2"),
        ("dt=2026-01-01", "dt=2026-01-01"),
        ("/dt=2026-01-01", "/dt=2026-01-01"),
        ("/2026/01", "/2026/01"),
        ("orders", "orders"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_dates_and_partitions_are_trimmed(name: str, trimmed: str) -> None:
    assert trim_name(name, ALL) == trimmed


def test_trimming_a_trimmed_name_changes_nothing() -> None:
    for name in ("raw/dt=1/2026/01/31/20260101", "/a/b=c/2026-01-01"):
        once = trim_name(name, ALL)
        assert trim_name(once, ALL) == once


def test_trimmers_are_disabled_by_the_names_that_the_official_listener_takes() -> None:
    package = "io.openlineage.client.dataset.partition.trimmer"
    some = enabled_trimmers(f"{package}.DateTrimmer;{package}.YearMonthTrimmer")
    assert trim_name("raw/2026-01-01", some) == "raw/2026-01-01"
    assert trim_name("raw/dt=2026-01-01", some) == "raw"


def test_folders_of_several_days_are_one_dataset_with_several_locations() -> None:
    days = [location(f"s3a://lake/raw/dt=2026-01-0{day}") for day in (1, 2)]
    (found,) = trim(days, ALL)
    assert found.key == ("s3://lake", "raw")
    assert found.locations == ("raw/dt=2026-01-01", "raw/dt=2026-01-02")
    assert merge([found, found]) == (found,)


def test_a_catalogs_table_keeps_its_name() -> None:
    table = Dataset("s3://lake", "tables/2026-01-01", (Symlink("hive://h:9083", "db.t"),))
    assert trim([table], ALL) == (table,)
