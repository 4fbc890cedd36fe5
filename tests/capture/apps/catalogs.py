"""Writes and reads tables, by batch and by stream, in each catalog that is named as an argument."""

import json
import os
import sys

import headwater
from capture.apps.session import HOME, builder

spark = builder().config(map=json.loads(os.environ["SPARK_CONF"])).getOrCreate()
headwater.attach(spark)


def use(catalog: str, form: str) -> None:
    """All that is written of a table: rows, copies of it, a stream from it, and changes in it."""
    shop, sql = f"{catalog}.shop", spark.sql
    sql(f"create namespace {shop}")
    sql(f"create table {shop}.orders (id bigint, item string) using {form}")
    sql(f"insert into {shop}.orders values (1, 'owl'), (2, 'cat')")
    sql(f"create table {shop}.copy using {form} as select id + 1 as n, item from {shop}.orders")
    stream = spark.readStream.table(f"{shop}.orders").selectExpr("id", "upper(item) as item")
    writer = stream.writeStream.queryName("streamed").format(form).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(HOME / f"checkpoint-{catalog}"))
    writer.toTable(f"{shop}.streamed").awaitTermination()
    sql(f"update {shop}.orders set item = lower(item) where id = 1")
    sql(f"delete from {shop}.orders where id = 2")
    sql(
        f"merge into {shop}.orders t using {shop}.copy s on t.id = s.n"
        " when matched then update set t.item = s.item"
        " when not matched then insert (id, item) values (s.n, s.item)"
    )


for argument in sys.argv[1:]:
    use(*argument.split(":"))
spark.stop()
