"""Values inside columns, as events name them."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from capture.queries import analyzed, run_query
from headwater.capture.datasets.naming import Dataset
from headwater.capture.plan import analyze
from headwater.capture.plan.nested import MOST_INSIDE, MOST_PICKED
from headwater.capture.plan.sources import Field
from headwater.capture.spark.described import Described

Edges = dict[str, set[tuple[str, str]]]


def fields_of(spark: SparkSession, query: str, output: str = "file") -> Edges:
    """The columns of an event's output, each with its input fields and their effects."""
    return {
        name: {
            (given["field"], step["subtype"])
            for given in entry["inputFields"]
            for step in given["transformations"]
        }
        for name, entry in entries_of(spark, query, output).items()
    }


def descriptions_of(spark: SparkSession, query: str, field: str) -> set[str]:
    """The expressions by which an input field takes part in the output's columns."""
    return {
        step["description"]
        for entry in entries_of(spark, query, "file").values()
        for given in entry["inputFields"]
        if given["field"] == field
        for step in given["transformations"]
    }


def entries_of(spark: SparkSession, query: str, output: str) -> dict[str, Any]:
    """The columns of an event's output, as the event has them."""
    frame = run_query(spark, query)
    lineage = analyze(analyzed(frame))
    listed = frame.schema.jsonValue()["fields"]
    typed = tuple(Field(field["name"], field["type"]) for field in listed)
    written = Dataset(output, "out", fields=typed if output == "file" else ())
    datasets = {index: (Dataset("file", f"in{index}"),) for index in range(len(lineage.sources))}
    (told,) = Described(lineage, datasets, (written,)).outputs()
    fields: dict[str, Any] = told["facets"]["columnLineage"]["fields"]
    return fields


def test_the_column_that_holds_a_value_is_listed_beside_it(spark: SparkSession) -> None:
    found = fields_of(spark, "select address.geo.lat as x from nested where lines[0].n > 1")
    assert found == {
        "x": {
            ("address", "TRANSFORMATION"),
            ("address.geo.lat", "IDENTITY"),
            ("lines", "FILTER"),
            ("lines._element.n", "FILTER"),
        }
    }


def test_values_inside_an_output_are_columns_if_the_query_makes_them(spark: SparkSession) -> None:
    query = "select named_struct('a', id, 'g', address.geo) as s, array(id) as l from nested"
    assert fields_of(spark, query) == {
        "s": {
            ("id", "TRANSFORMATION"),
            ("address", "TRANSFORMATION"),
            ("address.geo", "TRANSFORMATION"),
        },
        "s.a": {("id", "IDENTITY")},
        "s.g": {("address.geo", "IDENTITY")},
        "l": {("id", "TRANSFORMATION")},
        "l._element": {("id", "TRANSFORMATION")},
    }


def test_a_copied_struct_is_one_edge(spark: SparkSession) -> None:
    found = fields_of(spark, "select address as a, lines from nested")
    assert found == {"a": {("address", "IDENTITY")}, "lines": {("lines", "IDENTITY")}}


def test_who_needs_the_whole_column_lists_no_values_inside_it(spark: SparkSession) -> None:
    found = fields_of(spark, "select concat(to_json(address), address.street) as x from nested")
    assert found == {"x": {("address", "TRANSFORMATION")}}


def test_a_record_in_a_text_column_has_no_columns_inside_it(spark: SparkSession) -> None:
    query = "select to_json(struct(id, payload)) as j from nested"
    assert fields_of(spark, query) == {
        "j": {("id", "TRANSFORMATION"), ("payload", "TRANSFORMATION")}
    }


def test_records_of_a_topic_have_values_inside_their_fields(spark: SparkSession) -> None:
    query = (
        "df = table('nested').select(F.to_json(F.struct('id', "
        "F.struct(F.col('address.geo.lat').alias('lat')).alias('at'))).alias('value'))"
    )
    found = fields_of(spark, query, "kafka://broker:9092")
    assert found.keys() == {"id", "at", "at.lat"}
    assert found["at.lat"] == {("address.geo.lat", "IDENTITY")}


@pytest.mark.parametrize("width", [MOST_INSIDE, MOST_INSIDE + 1])
def test_a_huge_struct_is_opened_up_to_a_limit(spark: SparkSession, width: int) -> None:
    inner = ",".join(f"f{n}:int" for n in range(width))
    spark.sql(f"create table wide{width} (s struct<{inner}>) using parquet")
    found = fields_of(spark, f"select s.f7 as x, struct(s.*) as again from wide{width}")
    is_open = width <= MOST_INSIDE
    assert (("s.f7", "IDENTITY") in found["x"]) is is_open
    assert ("s", "TRANSFORMATION") in found["x"]
    assert found["again"] == {("s", "TRANSFORMATION")}  # more than are listed one by one
    assert sum(len(inputs) for inputs in found.values()) <= MOST_INSIDE + MOST_PICKED


def test_an_output_lists_a_limited_number_of_values_inside_it(spark: SparkSession) -> None:
    made: Any = ", ".join(f"'f{n}', id + {n}" for n in range(600))
    query = f"select named_struct({made}) as a, named_struct({made}) as b from nested"
    found = fields_of(spark, query)
    assert "a.f599" in found
    assert not [name for name in found if name.startswith("b.")]
    assert found["b"] == {("id", "TRANSFORMATION")}


TAGGED = "from items lateral view explode(tags) t as tag"
DECIDING = {
    f"select sum(weight) as s {TAGGED} group by tag": "GROUP_BY",
    f"select weight as s {TAGGED} where tag = 'x'": "FILTER",
    f"select weight as s {TAGGED} order by tag": "SORT",
    f"select weight as s from (select * {TAGGED}) join customers on tag = name": "JOIN",
    f"select sum(weight) over (partition by tag) as s {TAGGED}": "WINDOW",
    f"select if(tag = 'x', weight, 0) as s {TAGGED}": "CONDITIONAL",
}


@pytest.mark.parametrize("query", DECIDING)
def test_an_exploded_element_decides_about_other_columns(spark: SparkSession, query: str) -> None:
    found = fields_of(spark, query)["s"]
    assert {("tags", "FILTER"), ("tags._element", DECIDING[query])} <= found


def test_conditions_on_a_column_and_on_its_elements_are_both_listed(spark: SparkSession) -> None:
    query = (
        "select weight as s from (select * from items where size(tags) > 1)"
        " lateral view explode(tags) t as tag where tag = 'x'"
    )
    assert descriptions_of(spark, query, "tags._element") == {"tags = 'x'"}
    assert "size(tags) > 1" in descriptions_of(spark, query, "tags")
