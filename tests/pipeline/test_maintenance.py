"""Maintenance beside streaming writers: whoever comes back after a crash commits nothing twice."""

from pathlib import Path

import msgspec
from pyspark.sql import functions as F

from headwater.pipeline import kafka
from headwater.pipeline.jobs.maintenance import maintain
from headwater.pipeline.sinks.iceberg import append
from headwater.pipeline.tables import Table, catalog_options, configure_catalog, ensure_table
from pipeline.lab import Lab
from pipeline.plain import Plain
from stack.platform import Platform

TABLE = "demo_ib.default.kept"


def test_the_snapshots_that_a_crashed_writer_needs_are_kept(lab: Lab, platform: Platform) -> None:
    plain = Plain(platform)
    plain.topic("kept")
    configure_catalog(lab.spark, lab.settings.catalog, catalog_options(lab.settings))
    ensure_table(lab.spark, Table.of(TABLE, "id BIGINT", ""))
    checkpoint = str(lab.folder / "kept")
    plain.send("kept", range(20))
    written(lab, checkpoint)
    # Killed between the commit of the table and that of the query.
    commits = Path(checkpoint, "commits")
    last = max(int(one.name) for one in commits.iterdir() if one.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)

    # Others write more snapshots than are kept in any case, and everything old is expired.
    for number in range(100, 107):
        lab.spark.range(number, number + 1).writeTo(TABLE).append()
    settings = msgspec.structs.replace(lab.settings, tables="default.kept", keep_seconds="0")
    maintain(lab.spark, settings)
    assert lab.table(f"{TABLE}.snapshots").where("operation = 'append'").count() >= 7

    plain.send("kept", range(20, 30))
    written(lab, checkpoint)
    found = sorted(row.id for row in lab.table(TABLE).collect())
    assert found == [*range(30), *range(100, 107)]


def written(lab: Lab, checkpoint: str) -> None:
    """Everything that the topic has, by a query that ends then."""
    records = kafka.read_stream(lab.spark, lab.settings.bootstrap, "kept")
    value = F.from_json(F.col("value").cast("string"), "id BIGINT")
    query = append(records.select(value["id"].alias("id")), "kept", TABLE, checkpoint, 100)
    query.processAllAvailable()
    query.stop()
