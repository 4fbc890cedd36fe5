"""Queries that a database runs for Spark: the tables and columns behind them."""

import pytest

from headwater.capture.datasets import naming
from headwater.capture.datasets.queries import read_query

Pairs = dict[str, set[tuple[str, str, str]]]


def pairs(query: str, kind: str, *fields: str) -> Pairs:
    """Each table with (field of the query, column, effect)."""
    found = read_query(query, kind, fields)
    assert found is not None
    return {t: {(b.field, b.column, b.effect.name) for b in behind} for t, behind in found.items()}


def test_a_subquery_is_the_table_that_it_reads() -> None:
    query = "(select id, price * 2 as p from shop.orders where region = 'NL') SPARK_GEN_SUBQ_0"
    assert pairs(query, "postgresql", "id", "p") == {
        "shop.orders": {
            ("id", "id", "IDENTITY"), ("id", "region", "FILTER"),
            ("p", "price", "TRANSFORMATION"), ("p", "region", "FILTER"),
        }
    }  # fmt: skip


def test_joins_groups_and_aggregates() -> None:
    query = "select o.id, sum(l.price) t from orders o join lines l on o.id = l.o group by o.id"
    assert pairs(query, "mysql", "t") == {
        "orders": {("t", "id", "JOIN"), ("t", "id", "GROUP_BY")},
        "lines": {("t", "price", "AGGREGATION"), ("t", "o", "JOIN")},
    }


def test_common_table_expressions_unions_and_stars() -> None:
    query = "with c as (select id, name from customers) select name from c union select x from d"
    assert pairs(f"({query}) q", "postgresql", "name") == {
        "customers": {("name", "name", "IDENTITY")},
        "d": {("name", "x", "IDENTITY")},
    }
    assert pairs("(select a.*, b.x from a join b on a.id = b.id) z", "derby", "v") == {
        "a": {("v", "v", "IDENTITY"), ("v", "id", "JOIN")},
        "b": {("v", "id", "JOIN")},
    }


def test_a_subquery_in_a_condition_is_read_too() -> None:
    query = "(select id from t where id in (select tid from bad)) z"
    assert pairs(query, "postgresql", "id") == {
        "t": {("id", "id", "IDENTITY"), ("id", "id", "FILTER")},
        "bad": {("id", "tid", "FILTER")},
    }


@pytest.mark.parametrize(
    ("kind", "table"), [("postgresql", "orders"), ("oracle", "ORDERS"), ("mysql", "Orders")]
)
def test_names_are_spelt_as_the_database_spells_them(kind: str, table: str) -> None:
    assert list(pairs("(select id from Orders) x", kind, "id")) == [table]


@pytest.mark.parametrize("query", ["(select from where", "(" * 5000, "(select 1", "(;)"])
def test_what_is_no_query_is_no_dataset(query: str) -> None:
    assert naming.jdbc_tables("jdbc:postgresql://db/shop", query, ("id",)) == ()


def test_tables_of_a_query_have_the_names_of_tables_that_are_read_whole() -> None:
    url = "jdbc:postgresql://db/shop?user=u&password=p"
    whole = naming.jdbc(url, "sales.orders")
    (found,) = naming.jdbc_tables(url, "(select id from sales.orders where id = 'secret') x", ())
    assert found.key == whole.key
