"""The expression that makes each column, over the names of source columns, from real plans."""

import pytest
from pyspark.sql import SparkSession

from capture.queries import analyzed, run_query
from headwater.capture.plan import analyze
from headwater.capture.plan.formulas import LONGEST, bare

FORMULAS = {
    "select sum(price) as total_price from orders": "sum(price)",
    "select price * qty as x from orders": "price * qty",
    "select sum(price * qty) as x from orders group by item": "sum(price * qty)",
    "select price * (1 - qty) / 2 as x from orders": "(price * (1 - qty)) / 2",
    "select cast(price as decimal(10,2)) as x from orders": "cast(price AS decimal(10,2))",
    "select count(*) as x from orders": "count(*)",
    "select count(distinct item) as x from orders": "count(DISTINCT item)",
    "select upper(trim(item)) as x from orders": "upper(trim(item))",
    "select case when qty > 1 then price else 0 end as x from orders": (
        "CASE WHEN qty > 1 THEN price ELSE 0 END"
    ),
    "select avg(price) over (partition by item order by ts desc) as x from orders": (
        "avg(price) OVER (PARTITION BY item ORDER BY ts DESC)"
    ),
    "select y + 1 as x from (select price * 2 as y from (select price from orders))": (
        "(price * 2) + 1"
    ),
    "with doubled as (select price * 2 as y from orders) select sum(y) as x from doubled": (
        "sum(price * 2)"
    ),
    "select price as x from pricey": "price",
    "select address.geo.lat + 1 as x from nested": "address.geo.lat + 1",
    "select lines[0].sku as x from nested": "lines[0].sku",
    "select item is not null and qty in (1, 2) as x from orders": (
        "(item IS NOT NULL) AND (qty IN (1, 2))"
    ),
    "select price as x from orders union all select credit * 2 from customers": (
        "price | credit * 2"
    ),
    "select if(qty > 1, item, item) as x from orders": "item",
    "select nullif(qty, 2) as x from orders": "nullif(qty, 2)",
    "select qty between 1 and 2 + 3 as x from orders": "qty BETWEEN 1 AND (2 + 3)",
    "select nvl(item, 'none') as x from orders": "nvl(item, 'none')",
    "select nvl2(item, 1, 2) as x from orders": "nvl2(item, 1, 2)",
    "select zeroifnull(qty) as x from orders": "zeroifnull(qty)",
    "select nullifzero(qty) as x from orders": "nullifzero(qty)",
    "select try_divide(price, qty) as x from orders": "try_divide(price, qty)",
    "select nvl(nullif(qty, 2), try_add(qty, 1)) as x from orders": (
        "nvl(nullif(qty, 2), try_add(qty, 1))"
    ),
    "select typeof(qty) as x from orders": "typeof(qty)",
    "select sum(nvl(price, 0)) as x from orders": "sum(nvl(price, 0))",
    "select aes_encrypt(item, '0000111122223333', 'ECB') as x from orders": (
        "aes_encrypt(item, '***', '***', '***', '***', '***')"
    ),
    "select sha2(concat(item, 'salt'), 256) as x from orders": "sha2(concat(item, '***'), 256)",
    "select max(ts) > date'2026-01-02' as x from orders": (
        "max(ts) > cast(DATE '2026-01-02' AS timestamp)"
    ),
    "df = topic.selectExpr('cast(value as string) as v')"
    """.selectExpr("cast(get_json_object(v, '$.price') as double) * 2 as x")""": ("price * 2"),
    "df = topic.select(F.from_json(F.col('value').cast('string'), 'n int').alias('r'))"
    ".selectExpr('r.n + 1 as x')": "n + 1",
    "df = table('orders').groupBy(F.window('ts', '5 seconds')).count().select('window.start')": (
        "window(ts)"
    ),
}


@pytest.mark.parametrize("query", FORMULAS)
def test_a_column_has_the_expression_that_makes_it(spark: SparkSession, query: str) -> None:
    (column,) = analyze(analyzed(run_query(spark, query))).columns
    assert bare(column[1].formula) == FORMULAS[query]


def test_rows_have_the_conditions_that_decide_about_them(spark: SparkSession) -> None:
    query = (
        "select o.price from orders o join customers c on o.customer_id = c.customer_id "
        "where c.city = 'Rome' and qty > 2"
    )
    lineage = analyze(analyzed(run_query(spark, query)))
    told = {(e.origin.field, e.effect.name): text for e, text in lineage.conditions.items()}
    assert told == {
        ("customer_id", "JOIN"): "customer_id = customer_id",
        ("city", "FILTER"): "(city = 'Rome') AND (qty > 2)",
        ("qty", "FILTER"): "(city = 'Rome') AND (qty > 2)",
    }


def test_a_formula_stays_short_however_deep_the_plan(spark: SparkSession) -> None:
    frame = spark.table("orders").select("price")
    for _ in range(12):
        frame = frame.selectExpr("price + price as price")
    ((_, column),) = analyze(analyzed(frame)).columns
    assert len(column.formula) == LONGEST
    assert column.formula.endswith("…")
