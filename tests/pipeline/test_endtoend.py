"""The lab as a whole, on the real platform: counts agree exactly."""

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.pipeline import tables
from headwater.pipeline.decoding import decoded
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.formats.converters import Avro, Ids
from headwater.pipeline.hosting import Task
from headwater.pipeline.jobs import maintenance, supplier_hours
from headwater.pipeline.jobs.catalog import job
from headwater.pipeline.jobs.supplier_windows import per_supplier
from headwater.schemas.registry import Registry
from pipeline.lab import Lab, shipped


def topic_rows(lab: Lab, topic: str) -> DataFrame:
    records = (
        lab.spark.read.format("kafka")
        .option("kafka.bootstrap.servers", lab.settings.bootstrap)
        .option("subscribe", topic)
        .load()
    )
    decode = Avro(Registry(lab.settings.registry)).decoder(topic, Ids())
    assert decode is not None
    return decoded(records, decode).select("value.*")


def test_every_order_is_everywhere_once(lab: Lab) -> None:
    source = lab.start("orders-source", {**shipped("orders-source"), "rows.per.second": "200"})
    lab.start("orders-s3-sink", shipped("orders-s3-sink"))
    lab.start("orders-iceberg-sink", shipped("orders-iceberg-sink"))
    stats = Task(
        job("supplier-stats").flow(PipelineContext(lab.spark, lab.settings)),
        str(lab.folder / "stats"),
    )
    stats.start()
    lab.wait(lambda: _looked_after(stats) and lab.count("orders") >= 4000)
    source.stop()
    lab.hosted.remove(source)
    count = lab.settled("orders")
    lab.wait(lambda: lab.table("demo_ib.default.orders").count() >= count)
    archive = "s3a://fh-dev-bucket/orders"
    lab.wait(lambda: lab.archived(archive) >= count)
    assert stats.query is not None
    stats.query.processAllAvailable()
    stats.stop()

    orders = topic_rows(lab, "orders")
    assert orders.select("order_id").distinct().count() == count
    archived = lab.spark.read.json(archive)
    assert archived.count() == archived.select("order_id").distinct().count() == count
    table = lab.table("demo_ib.default.orders")
    assert table.count() == table.select("order_id").distinct().count() == count
    cents = F.sum(F.col("price").cast("decimal(10,2)"))
    assert table.agg(cents).collect() == orders.agg(cents).collect()
    assert dict(table.dtypes)["price"] == "decimal(10,2)"

    windows = {tuple(row) for row in topic_rows(lab, "supplier-stats").collect()}
    again = {tuple(row) for row in per_supplier(orders).collect()}
    assert windows
    assert windows <= again
    last = max(window[0] for window in windows)
    assert windows == {window for window in again if window[0] <= last}

    supplier_hours.run(lab.spark, lab.settings)
    totals = lab.table("demo_ib.default.supplier_stats")
    latest = supplier_hours.latest_day(table)
    assert totals.agg(F.sum("total_count")).collect()[0][0] == latest.count()


def test_maintenance_makes_few_files_of_many_and_disturbs_no_reader(lab: Lab) -> None:
    table = "demo_ib.default.scraps"
    tables.ensure_table(lab.spark, tables.Table.of(table, "id BIGINT, day STRING", "day"))
    for number in range(8):
        lab.spark.sql(f"INSERT INTO {table} VALUES ({number}, 'monday')")
    held = lab.table(table).orderBy("id")
    before = held.collect()
    settings = msgspec.structs.replace(lab.settings, tables="default.scraps", keep_seconds="0")
    (done,) = maintenance.maintain(lab.spark, settings)
    assert done.rewritten_files == 8
    assert lab.table(f"{table}.files").count() == 1
    assert lab.table(f"{table}.snapshots").count() == 5
    assert held.collect() == before == lab.table(table).orderBy("id").collect()
    assert "default.scraps" in maintenance.all_tables(lab.spark, "demo_ib")


def _looked_after(task: Task) -> bool:
    task.poll()
    assert not task.trace
    return True
