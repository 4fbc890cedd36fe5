"""Names of datasets, by OpenLineage's conventions."""

import pytest

from headwater.capture.datasets import naming


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("s3a://bucket/a/b", "s3://bucket", "a/b"),
        ("s3://bucket/a/b/", "s3://bucket", "a/b"),
        ("s3n://bucket", "s3://bucket", "/"),
        ("gs://bucket/a", "gs://bucket", "a"),
        ("file:/tmp/x", "file", "/tmp/x"),
        ("file:///tmp/x", "file", "/tmp/x"),
        ("/tmp/x y", "file", "/tmp/x y"),
        ("file:/tmp/x%20y", "file", "/tmp/x y"),
        ("hdfs://nn:8020/user/a", "hdfs://nn:8020", "/user/a"),
        (
            "abfss://c@acct.dfs.core.windows.net/a/b",
            "abfss://c@acct.dfs.core.windows.net",
            "a/b",
        ),
    ],
)
def test_files_are_named_by_their_place(uri: str, namespace: str, name: str) -> None:
    assert naming.location(uri).key == (namespace, name)


@pytest.mark.parametrize(
    ("pattern", "namespace", "name"),
    [
        ("s3a://bucket/*", "s3://bucket", "/"),
        ("s3a://bucket/raw/day=*/hour=?", "s3://bucket", "raw"),
        ("hdfs://[::1]:9000/raw/[ab]/x", "hdfs://[::1]:9000", "/raw"),
        ("file:/raw/{a,b}", "file", "/raw"),
        ("/raw/day*", "file", "/raw"),
        ("/raw", "file", "/raw"),
    ],
)
def test_files_of_a_pattern_are_named_by_their_folder(
    pattern: str, namespace: str, name: str
) -> None:
    assert naming.matching(pattern).key == (namespace, name)


@pytest.mark.parametrize(
    ("servers", "namespace"),
    [
        ("broker:9092", "kafka://broker:9092"),
        ("a:1,b:2", "kafka://a:1"),
        ("SASL_SSL://a:9093, b:9093", "kafka://a:9093"),
        ("broker", "kafka://broker:9092"),
    ],
)
def test_topics_are_named_by_the_first_bootstrap_server(servers: str, namespace: str) -> None:
    assert naming.topic(servers, "orders").key == (namespace, "orders")


@pytest.mark.parametrize(
    ("url", "table", "namespace", "name"),
    [
        ("jdbc:postgresql://db:6543/shop", "orders", "postgres://db:6543", "shop.public.orders"),
        ("jdbc:postgresql://db/shop?user=u&password=p", "s.t", "postgres://db:5432", "shop.s.t"),
        ("jdbc:mysql://u:secret@db/shop", "orders", "mysql://db:3306", "shop.orders"),
        (
            "jdbc:sqlserver://db:1433;databaseName=shop",
            "orders",
            "mssql://db:1433",
            "shop.dbo.orders",
        ),
        ("jdbc:oracle:thin:@//db:1521/orcl", "HR.EMP", "oracle://db:1521", "orcl.HR.EMP"),
        ("jdbc:sqlite:/tmp/x.db", "t", "sqlite:/tmp/x.db", "t"),
    ],
)
def test_jdbc_tables_are_named_without_secrets(
    url: str, table: str, namespace: str, name: str
) -> None:
    assert naming.jdbc(url, table).key == (namespace, name)


def test_metastore_tables_are_symlinks_under_its_first_address() -> None:
    found = naming.metastore("thrift://hms:9083,thrift://hms2:9083", "default.orders")
    assert (found.namespace, found.name) == ("hive://hms:9083", "default.orders")
    assert naming.glue("eu-west-1", "42", "db", "t").namespace == "arn:aws:glue:eu-west-1:42"


def test_warehouse_is_an_address() -> None:
    assert naming.address("s3a://warehouse/") == "s3://warehouse"
    assert naming.address("s3://warehouse/x/") == "s3://warehouse/x"
    assert naming.address("/tmp/wh") == "file:/tmp/wh"
