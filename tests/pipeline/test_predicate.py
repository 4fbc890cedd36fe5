"""What is said of a predicate that cannot be used."""

import pytest
from pyspark.sql import SparkSession

from headwater.errors import BadPredicate
from headwater.trace.predicate import condition


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"price = {'9' * 41}", "precision 41 exceeds max precision 38"),
        ("price = 1e999", "outside the valid range"),
        ("price = 1e999BD", "precision"),
        ("price = 99999999999999999999L", "outside the valid range"),
        ("number = 300Y", "outside the valid range"),
        ("day = DATE'no day'", "is invalid"),
        ("price = ", "yntax error"),
        ("not " * 2_400 + "true", "it is nested too deeply"),
        ("1 = " + "1 + " * 2_400 + "1", "it is nested too deeply"),
    ],
)
def test_the_reason_is_what_spark_says(spark: SparkSession, text: str, reason: str) -> None:
    with pytest.raises(BadPredicate) as told:
        condition(spark, text)
    assert reason in told.value.reason
    assert "\n" not in told.value.message
