"""The small tables that golden pairs and the oracle query."""

from pyspark.sql import SparkSession

TABLES = {
    "orders": "order_id int, customer_id int, item string, price double, qty int, ts timestamp",
    "customers": "customer_id int, name string, city string, credit double",
    "items": "item string, category string, weight double, tags array<string>",
    "nested": (
        "id int, address struct<street:string,geo:struct<lat:double,lon:double>>,"
        " lines array<struct<sku:string,n:int>>, attrs map<string,string>, payload string"
    ),
}


def create_tables(spark: SparkSession) -> None:
    """Create every table, empty: an analyzed plan needs no rows."""
    for name, columns in TABLES.items():
        spark.sql(f"create table {name} ({columns}) using parquet")
    spark.sql("create view pricey as select order_id, item, price from orders where qty > 1")
