"""Made-up records: what each expression gives, on bounded frames."""

import re
import uuid
from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.errors import BadConfig
from headwater.pipeline.config import parse
from headwater.pipeline.generator.draw import Draw
from headwater.pipeline.generator.expressions import expression
from headwater.pipeline.generator.topics import check, records, topics
from pipeline.lab import shipped

MOMENT = "2026-01-01 00:00:00"


def numbered(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(count).select(
        F.col("id").alias("value"), F.lit(MOMENT).cast("timestamp").alias("timestamp")
    )


def made(spark: SparkSession, text: str, count: int = 200) -> list[object]:
    value = expression(text, Draw("seed", F.col("value")), F.col("timestamp"))
    return [row[0] for row in numbered(spark, count).select(value).collect()]


def test_uuids_are_distinct_and_of_version_four(spark: SparkSession) -> None:
    found = made(spark, "#{Internet.uuid}", 1000)
    assert len(set(found)) == 1000
    assert all(uuid.UUID(str(one)).version == 4 for one in found)


def test_doubles_stay_in_their_range_and_precision(spark: SparkSession) -> None:
    found = made(spark, "#{number.random_double '2','1','150'}", 1000)
    assert all(isinstance(one, float) and 1 <= one <= 150 for one in found)
    assert all(round(float(str(one)), 2) == one for one in found)
    assert len(set(found)) > 500


def test_past_dates_are_within_their_span(spark: SparkSession) -> None:
    found = made(spark, "#{date.past '5','SECONDS'}")
    moment = spark.sql(f"SELECT timestamp '{MOMENT}'").collect()[0][0]
    spans = [moment - one for one in found if isinstance(one, datetime)]
    assert len(spans) == 200
    assert all(timedelta() <= span <= timedelta(seconds=5) for span in spans)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("#{regexify '(Alice|Bob|Carol)'}", "Alice|Bob|Carol"),
        ("#{regexify '[A-C]{2}-\\d{1,3}x?'}", r"[A-C]{2}-\d{1,3}x?"),
        ("#{number.number_between '3','6'}", "[345]"),
        ("#{Options.option 'a','b'}", "a|b"),
        ("#{bool.bool}", "True|False"),
        ("#{Name.fullName}", r"\w+ \w+"),
        ("#{Commerce.productName}", r"\w+ \w+ \w+"),
        ("#{numerify 'n-##'}", r"n-\d\d"),
        ("item #{number.random_digit} of 9", r"item \d of 9"),
        ("constant", "constant"),
    ],
)
def test_values_fit_their_expression(spark: SparkSession, text: str, pattern: str) -> None:
    found = [str(one) for one in made(spark, text)]
    assert all(re.fullmatch(pattern, one) for one in found), found[:5]
    assert len(set(found)) > 1 or text == "constant"


def test_the_same_row_is_made_again_as_it_was(spark: SparkSession) -> None:
    text = "#{Internet.uuid} #{Name.fullName}"
    assert made(spark, text, 50) == made(spark, text, 100)[:50]


def test_matching_takes_values_of_the_other_topic_s_latest_rows(spark: SparkSession) -> None:
    config = parse("c", {**shipped("multi-topic-source"), "global.history.records.max": "10"}, {})
    known = topics(config)
    frame = numbered(spark, 100)
    orders = [
        row[0] for row in records(frame, "orders", known, "s").select("value.order_id").collect()
    ]
    bids = [row[0] for row in records(frame, "bids", known, "s").select("value.order_id").collect()]
    distances = [number - orders.index(one) for number, one in enumerate(bids)]
    assert all(0 <= distance < 10 for distance in distances)
    assert len(set(distances)) == 10


def test_nulls_come_at_their_rate(spark: SparkSession) -> None:
    values = {"genv.t.a.with": "#{Internet.uuid}", "attrv.t.a.null.rate": "0.25"}
    config = parse("g", {"connector.class": "generator", **values}, {})
    frame = records(numbered(spark, 2000), "t", topics(config), "seed")
    assert 400 < frame.where("value.a is null").count() < 600
    with pytest.raises(BadConfig, match=r"attrv\.t\.a\.null\.rate"):
        parse("g", {"connector.class": "generator", **values, "attrv.t.a.null.rate": "2"}, {})


def test_rates_come_from_throttles_or_our_own_key(spark: SparkSession) -> None:
    values = shipped("multi-topic-source")
    assert {float(topic.rate) for topic in topics(parse("c", values, {})).values()} == {0.5}
    faster = {**values, "rows.per.second": "200", "topic.bids.rows.per.second": "50"}
    found = topics(parse("c", faster, {}))
    assert [float(found[name].rate) for name in ("orders", "bids")] == [200, 50]


def test_an_unknown_function_is_named_before_anything_starts(spark: SparkSession) -> None:
    config = parse("c", {"connector.class": "generator", "genv.t.f.with": "#{Tea.leaf}"}, {})
    with pytest.raises(
        BadConfig, match=r"genv\.t\.f\.with: the function 'Tea\.leaf' is not supported"
    ):
        check(config)
