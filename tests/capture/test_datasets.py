"""The datasets behind the leaves of real plans."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from capture.queries import analyzed
from headwater.capture.datasets.naming import Dataset, Symlink
from headwater.capture.datasets.registries import Registries
from headwater.capture.plan import analyze
from headwater.capture.spark.catalogs import Catalogs
from headwater.capture.spark.described import Described, record_columns
from headwater.capture.spark.leaves import Leaves

SERVERS = {"kafka.bootstrap.servers": "broker:9092,other:9092"}


def read(spark: SparkSession, frame: DataFrame) -> list[Dataset]:
    """Every dataset that a frame reads, in the order of its sources."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    lineage = analyze(analyzed(frame))
    found = Leaves(Catalogs(spark._jsparkSession), Registries()).datasets(plan, lineage.sources)
    return [dataset for _, datasets in sorted(found.items()) for dataset in datasets]


@pytest.mark.parametrize(
    ("option", "value", "topics"),
    [
        ("subscribe", "orders", ["orders"]),
        ("subscribe", "orders, bids", ["orders", "bids"]),
        ("assign", '{"orders": [0, 1], "bids": [0]}', ["bids", "orders"]),
        ("subscribePattern", "orders.*", ["orders.*"]),
    ],
)
@pytest.mark.parametrize("kind", ["stream", "batch"])
def test_topics(spark: SparkSession, kind: str, option: str, value: str, topics: list[str]) -> None:
    reader = spark.readStream if kind == "stream" else spark.read
    frame = reader.format("kafka").options(**SERVERS, **{option: value}).load()
    assert [d.key for d in read(spark, frame)] == [("kafka://broker:9092", t) for t in topics]


@pytest.mark.parametrize("format", ["json", "csv", "parquet", "orc", "text"])
def test_files_by_stream_and_by_batch(spark: SparkSession, tmp_path: Path, format: str) -> None:  # noqa: A002
    place = str(tmp_path / "data")
    spark.range(1).select(F.col("id").cast("string")).write.format(format).save(place)
    batch = read(spark, spark.read.format(format).schema("id string").load(place))
    stream = read(spark, spark.readStream.format(format).schema("id string").load(place))
    assert [d.key for d in batch] == [d.key for d in stream] == [("file", place)]


def test_states_of_an_iceberg_table_are_the_table(spark: SparkSession) -> None:
    spark.sql("create table ice.db.states (a int) using iceberg")
    spark.sql("insert into ice.db.states values (1)")
    spark.sql("alter table ice.db.states create branch dev")
    snapshot = spark.sql("select snapshot_id from ice.db.states.snapshots").first()
    assert snapshot is not None
    whole = read(spark, spark.table("ice.db.states"))
    for query in (
        f"select * from ice.db.states version as of {snapshot[0]}",
        "select * from ice.db.states version as of 'dev'",
        "select * from ice.db.states.branch_dev",
    ):
        assert read(spark, spark.sql(query)) == whole, query
    stream = read(spark, spark.readStream.table("ice.db.states"))
    assert stream == whole
    assert whole[0].symlinks[0].name == "db.states"


@pytest.mark.parametrize(
    ("conf", "namespace", "name"),
    [
        ({"type": "hive", "uri": "thrift://meta:9083"}, "hive://meta:9083", "shop.orders"),
        ({"type": "hadoop", "warehouse": "s3a://w/ice"}, "s3://w/ice", "shop.orders"),
        ({"type": "rest", "uri": "https://me:pw@rest/v/?t=1"}, "https://rest/v", "shop.orders"),
        (
            {"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": "http://rest:8181/"},
            "http://rest:8181",
            "shop.orders",
        ),
        (
            {"type": "jdbc", "uri": "jdbc:postgresql://me:pw@db/ice"},
            "postgres://db:5432",
            "shop.orders",
        ),
        (
            {"type": "glue", "client.region": "eu-west-1", "glue.account-id": "42"},
            "arn:aws:glue:eu-west-1:42",
            "table/shop/orders",
        ),
    ],
)
def test_iceberg_table_is_its_place_and_its_name_in_the_catalog(
    spark: SparkSession, conf: dict[str, str], namespace: str, name: str
) -> None:
    spark.sql("create table if not exists ice.shop.orders (id int) using iceberg")
    relation: Any = spark.table("ice.shop.orders")._jdf.queryExecution().analyzed()
    for key, value in conf.items():
        spark.conf.set(f"spark.sql.catalog.named.{key}", value)
    table = relation.collectLeaves().head().table()
    dataset = Catalogs(spark._jsparkSession).v2(table, "named", "shop.orders")
    for key in conf:
        spark.conf.unset(f"spark.sql.catalog.named.{key}")
    assert dataset is not None
    assert (dataset.namespace, dataset.name.rpartition("/iceberg/")[2]) == ("file", "shop/orders")
    assert dataset.symlinks == (Symlink(namespace, name),)


def test_tables_behind_views_and_subqueries(spark: SparkSession) -> None:
    query = "select * from pricey where order_id in (select customer_id from customers)"
    names = {d.symlinks[0].name for d in read(spark, spark.sql(query))}
    assert names == {"default.orders", "default.customers"}


def test_jdbc_table_is_named_by_its_database(spark: SparkSession, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path}/db;create=true"
    spark.range(1).write.jdbc(url, "shop.orders")
    frame = spark.read.jdbc(url, "shop.orders")
    assert [d.key for d in read(spark, frame)] == [(f"derby:{tmp_path}/db", "shop.orders")]


def test_made_up_rows_are_no_dataset(spark: SparkSession) -> None:
    assert read(spark, spark.readStream.format("rate").load()) == []
    assert read(spark, spark.range(3).toDF("id")) == []


def test_record_on_its_way_into_a_topic_is_its_fields(spark: SparkSession) -> None:
    orders = spark.readStream.format("kafka").options(**SERVERS, subscribe="orders").load()
    schema = "supplier string, price double"
    record = orders.select(F.from_json(F.col("value").cast("string"), schema).alias("o"))
    totals = record.groupBy("o.supplier").agg(F.sum("o.price").alias("total_price"))
    frame = totals.select(
        F.col("supplier").alias("key"),
        F.to_json(F.struct("supplier", "total_price")).alias("value"),
    )
    lineage = analyze(analyzed(frame))
    names = [name for name, _ in record_columns(lineage.columns)]
    assert names == ["key", "supplier", "total_price"]
    plan: Any = frame._jdf.queryExecution().analyzed()
    datasets = Leaves(Catalogs(spark._jsparkSession), Registries()).datasets(plan, lineage.sources)
    output = Dataset("kafka://broker:9092", "supplier-stats")
    described = Described(lineage, datasets, (output,))
    total = described.outputs()[0]["facets"]["columnLineage"]["fields"]["total_price"]
    assert {(f["name"], f["field"]) for f in total["inputFields"]} == {
        ("orders", "price"),
        ("orders", "supplier"),
    }
    assert "schema" not in described.inputs()[0]["facets"]  # another query decodes other fields


def test_topics_that_rows_name_are_read_from_the_plan(spark: SparkSession) -> None:
    def sent(topic: str) -> DataFrame:
        return spark.range(1).select(F.lit(topic).alias("topic"), F.lit("v").alias("value"))

    lineage = analyze(analyzed(sent("orders").union(sent("bids")).where("value <> 'w'")))
    assert lineage.texts("topic") == ("bids", "orders")
    column = spark.table("orders").select(F.col("item").alias("topic"), F.lit("v").alias("value"))
    assert analyze(analyzed(column)).texts("topic") == ()
