"""Makes the archive from which every JVM of Spark in the tests maps its classes.

Half of the work of a Spark until its first answer is to read and verify classes. `make test`
makes the archive once for an environment; without it, or with another Java or Spark than it was
made with, the tests are the same and slower.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import jvm
from headwater.stack import Settings, java_home


def make(archive: Path) -> None:
    """Run a bit of everything, and keep the classes that it took."""
    new = archive.with_suffix(".new")
    os.environ["JAVA_HOME"] = str(java_home(Settings.read(os.environ)))
    os.environ["SPARK_SUBMIT_OPTS"] = f"{jvm.QUICK} {jvm.SILENT} -XX:ArchiveClassesAtExit={new}"
    with TemporaryDirectory() as folder:
        spark = (
            SparkSession.Builder()
            .master("local[1]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .getOrCreate()
        )
        _work(spark, Path(folder))
        gateway: Any = spark.sparkContext._gateway
        spark.stop()
        gateway.proc.stdin.close()  # which ends the JVM
        assert gateway.proc.wait(600) == 0
    if not new.exists():  # a Java without an archive of its own classes makes none
        new.touch()
    new.replace(archive)


def _work(spark: SparkSession, folder: Path) -> None:
    orders = spark.range(9).selectExpr("id", "id % 3 as item", "id * 1.5 as price", "now() as time")
    for form in ("json", "csv", "parquet", "orc"):
        orders.write.format(form).save(f"{folder}/{form}")
        spark.read.format(form).load(f"{folder}/{form}").agg(F.count("*")).collect()
    orders.writeTo("orders").using("parquet").create()
    spark.sql(
        "create table totals using parquet as select a.item, sum(b.price) as total,"
        " max(upper(cast(a.id as string))) as name, collect_list(struct(b.id, b.price)) as rows,"
        " rank() over (order by sum(b.price)) as place from orders a"
        " left join (select distinct * from orders where price > 1) b on a.item = b.item"
        " where a.id in (select id from orders) group by a.item"
    )
    spark.sql("insert into totals select * from totals where exists (select 1 from orders)")
    spark.sql("select *, explode(rows) from totals order by total limit 3").collect()
    double = F.udf(lambda price: price * 2, "double")
    source = spark.readStream.schema(orders.schema).parquet(f"{folder}/parquet")
    doubled = source.select("id", "time", double(F.col("price").cast("double")).alias("price"))

    def append(batch: DataFrame, _: int) -> None:
        batch.write.mode("append").parquet(f"{folder}/each")

    counted = source.withWatermark("time", "1 day").groupBy(F.window("time", "1 hour")).count()
    queries = [
        doubled.writeStream.foreachBatch(append).start(),
        counted.writeStream.format("memory").queryName("n").outputMode("complete").start(),
        source.writeStream.option("checkpointLocation", f"{folder}/state").start(f"{folder}/out"),
    ]
    for query in queries:
        query.processAllAvailable()
        query.stop()


if __name__ == "__main__":
    make(jvm.ARCHIVE)
