"""Column lineage, both ways from any column."""

from typing import Any

import pytest

from server.api import Api
from server.events import (
    as_bytes,
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    lineage,
    minute,
    run_event,
    schema,
)
from server.tables import FOREVER, rows, when

ORDERS = dataset("orders", schema=schema("price:decimal", "shop"))
TOTALS = dataset(
    "totals",
    schema=schema("total:decimal", "shop"),
    columnLineage=lineage(
        total=[comes_from("orders", "price")], shop=[comes_from("orders", "shop")]
    ),
)


def field(name: str, of: str) -> str:
    return f"datasetField:db:{of}:{name}"


def test_a_source_column_leads_downstream(api: Api) -> None:
    api.send(run_event(inputs=[ORDERS], outputs=[TOTALS]))
    found = api.columns(field("price", "orders"), withDownstream="true")
    assert set(found) == {field("price", "orders"), field("total", "totals")}


def test_a_column_leads_upstream_and_edges_are_reversed_as_in_marquez(api: Api) -> None:
    api.send(run_event(inputs=[ORDERS], outputs=[TOTALS]))
    found = api.columns(field("total", "totals"))
    assert set(found) == {field("price", "orders"), field("total", "totals")}
    assert found[field("total", "totals")]["inEdges"] == [
        {"origin": field("total", "totals"), "destination": field("price", "orders")}
    ]
    told = found[field("total", "totals")]["data"]
    assert (told["field"], told["fieldType"]) == ("total", "decimal")
    assert [i["field"] for i in told["inputFields"]] == ["price"]


def test_columns_are_followed_over_several_jobs_as_deep_as_asked(api: Api) -> None:
    for step in range(3):
        out = dataset(
            f"t{step + 1}",
            schema=schema("x"),
            columnLineage=lineage(x=[comes_from(f"t{step}", "x")]),
        )
        api.send(run_event("COMPLETE", step, run=f"r{step}", job=f"j{step}", outputs=[out]))
    assert set(api.columns(field("x", "t3"))) == {field("x", f"t{n}") for n in range(4)}
    assert set(api.columns(field("x", "t3"), depth=1)) == {field("x", "t3"), field("x", "t2")}
    down = api.columns(field("x", "t0"), withDownstream="true", depth=2)
    assert set(down) == {field("x", f"t{n}") for n in range(3)}


def test_columns_that_left_a_schema_leave_the_column_graph(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=[ORDERS], outputs=[TOTALS]))
    fewer = dataset("totals", schema=schema("shop"), columnLineage=lineage(shop=[]))
    api.send(run_event("COMPLETE", 2, run="b", inputs=[ORDERS], outputs=[fewer]))
    assert api.columns(field("price", "orders"), withDownstream="true") == {}
    assert api.status("/column-lineage", nodeId=field("total", "totals")) == 404
    assert [c["name"] for c in api.dataset("totals")["columnLineage"] or []] == ["shop"]


def test_internal_columns_of_our_own_jobs_are_not_listed_with_a_dataset(api: Api) -> None:
    """Such as those that a job makes on its way from the bytes of a topic to its fields."""
    told = lineage(total=[comes_from("orders", "price"), comes_from("orders", "_decoded")])
    told["_producer"] = "urn:headwater:capture:1.0.0"
    made = dataset("totals", schema=schema("total", "shop"), columnLineage=told)
    api.send(run_event("COMPLETE", 1, inputs=[ORDERS], outputs=[made]))
    (column,) = api.dataset("totals")["columnLineage"]
    assert [given["field"] for given in column["inputFields"]] == ["price"]
    (listed,) = [d for d in api.get("/namespaces/db/datasets")["datasets"] if d["columnLineage"]]
    assert listed["columnLineage"] == [column]
    assert [one["name"] for one in api.dataset("orders")["fields"]] == ["price", "shop"]
    assert api.get("/search", q="_decoded", types="column")["results"] == []


def test_fields_that_queries_decode_from_a_topic_are_its_columns(api: Api) -> None:
    """Each of our queries names those that it uses, and a topic of JSON has no schema."""
    used = {"a": {"id": "id", "word": "k"}, "b": {"total": "v"}, "c": {"id": "id"}}
    for at, (job, fields) in enumerate(used.items()):
        told = lineage(**{out: [comes_from("topic", given)] for out, given in fields.items()})
        told["_producer"] = "urn:headwater:capture:1.0.0"
        made = dataset(job, schema=schema(*fields), columnLineage=told)
        api.send(
            run_event("COMPLETE", at, run=job, job=job, inputs=[dataset("topic")], outputs=[made])
        )

    def is_whole() -> bool:
        steps = {
            (job, out): [
                one["field"]
                for one in api.columns(field(out, job))[field(out, job)]["data"]["inputFields"]
            ]
            for job, fields in used.items()
            for out in fields
        }
        return steps == {
            (job, out): [given] for job, fields in used.items() for out, given in fields.items()
        }

    assert is_whole()
    assert _listed(api, "topic") == [("id", False), ("k", False), ("v", False)]
    raw = dataset("topic", schema=schema("key", "value"))
    api.send(run_event("COMPLETE", 5, run="raw", job="raw", inputs=[raw]))
    assert is_whole()
    assert {name for name, _ in _listed(api, "topic")} == {"id", "k", "v", "key", "value"}


def _listed(api: Api, name: str) -> list[tuple[str, bool]]:
    return [(f["name"], f.get("inSchema", True)) for f in api.dataset(name)["fields"]]


def test_columns_that_only_column_lineage_names_are_listed_found_and_marked(api: Api) -> None:
    """Such as the columns of a dbt model that are not documented."""
    told = lineage(id=[comes_from("raw", "id")], total=[comes_from("raw", "price")])
    stage = dataset("stage", schema=schema("id"), columnLineage=told)
    raw = dataset("raw", schema=schema("id"))
    api.send(run_event("COMPLETE", 1, inputs=[raw], outputs=[stage]))
    assert _listed(api, "stage") == [("id", True), ("total", False)]
    assert _listed(api, "raw") == [("id", True), ("price", False)]
    assert [c["name"] for c in api.dataset("stage")["columnLineage"]] == ["id", "total"]
    node = api.lineage("dataset:db:stage")["dataset:db:stage"]
    assert node["data"]["fields"] == api.dataset("stage")["fields"]
    past = api.lineage("dataset:db:stage", asOf=minute(2))["dataset:db:stage"]
    assert past["data"]["fields"] == api.dataset("stage")["fields"]
    (found,) = api.get("/search", q="total", types="column")["results"]
    assert (found["nodeId"], found["field"]) == (field("total", "stage"), "total")
    (found,) = api.get("/search", q="price", filter="FIELD")["results"]
    assert found["nodeId"] == field("price", "raw")
    assert api.get("/resolve", name="total")["node"]["nodeId"] == field("total", "stage")
    documented = dataset("stage", schema=schema("id", "total"), columnLineage=told)
    api.send(run_event("COMPLETE", 2, run="b", inputs=[raw], outputs=[documented]))
    assert _listed(api, "stage") == [("id", True), ("total", True)]
    (found,) = api.get("/search", q="total", types="column")["results"]
    assert found["nodeId"] == field("total", "stage")


def test_columns_that_column_lineage_names_no_more_are_gone(api: Api) -> None:
    for at, column in ((1, "old"), (2, "new")):
        made = dataset("t", schema=schema("id"), columnLineage=lineage(**{column: []}))
        api.send(run_event("COMPLETE", at, run=f"r{at}", outputs=[made]))
    assert _listed(api, "t") == [("id", True), ("new", False)]
    assert api.get("/search", q="old", types="column")["results"] == []


def test_a_column_that_a_schema_dropped_is_not_listed_though_lineage_names_it(api: Api) -> None:
    made = dataset("t", schema=schema("id", "x"), columnLineage=lineage(x=[]))
    fewer = dataset("t", schema=schema("id"), columnLineage=lineage(x=[]))
    api.send(run_event(at=1, run="a", outputs=[made]), run_event(at=2, run="b", outputs=[fewer]))
    assert _listed(api, "t") == [("id", True)]


def test_a_column_that_only_column_lineage_names_is_followed(api: Api) -> None:
    """Such as the columns of a dbt model that are not documented."""
    told = lineage(id=[comes_from("raw", "id")], total=[comes_from("raw", "price")])
    stage = dataset("stage", schema=schema("id"), columnLineage=told)
    last = lineage(sum=[comes_from("stage", "total")])
    mart = dataset("mart", schema=schema("id"), columnLineage=last)
    raw = dataset("raw", schema=schema("id"))
    for at in (1, 5):  # and again, with the same schema
        api.send(run_event("COMPLETE", at, run=f"s{at}", job="s", inputs=[raw], outputs=[stage]))
        api.send(run_event("COMPLETE", at + 1, run=f"m{at}", job="m", outputs=[mart]))
    path = {field("price", "raw"), field("total", "stage"), field("sum", "mart")}
    assert set(api.columns(field("sum", "mart"))) == path
    assert set(api.columns(field("price", "raw"), withDownstream="true")) == path
    assert set(api.columns(field("sum", "mart"), asOf=minute(3))) == path
    reached = [item["nodeId"] for item in api.get("/impact", nodeId=field("price", "raw"))["items"]]
    assert reached == [field("total", "stage"), field("sum", "mart")]
    assert api.status("/column-lineage", nodeId=field("other", "stage")) == 404


def test_a_mapping_whose_column_is_gone_expires_though_the_mapping_stays(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=[ORDERS], outputs=[TOTALS]))
    api.send(dataset_event(2, dataset("totals", schema=schema("shop"))))
    assert set(api.columns("dataset:db:totals")) == {
        field("shop", "orders"),
        field("shop", "totals"),
    }


def test_old_mappings_keep_their_times(api: Api) -> None:
    other = dataset("totals", columnLineage=lineage(total=[comes_from("orders", "tax")]))
    api.send(run_event("COMPLETE", 5, run="b", outputs=[other]))
    api.send(run_event("COMPLETE", 1, run="a", outputs=[TOTALS]))
    found = {(row[2], row[3]): row[4] for row in rows(api.store_url, "mapping_span")}
    assert set(found) == {(when(1), when(5)), (when(5), FOREVER)}
    assert "price" in found[when(1), when(5)]
    assert "tax" in found[when(5), FOREVER]
    assert rows(api.store_url, "schema_span") == {
        ("db:totals", 1, when(1), FOREVER, ("total", "shop"))
    }


def test_a_job_that_no_longer_writes_a_dataset_leaves_its_column_graph(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=[ORDERS], outputs=[TOTALS]))
    api.send(run_event("COMPLETE", 2, run="b", inputs=[ORDERS], outputs=["elsewhere"]))
    assert api.columns("dataset:db:totals") == {}


def test_a_job_events_column_lineage_is_kept(api: Api) -> None:
    api.send(job_event(inputs=[ORDERS], outputs=[TOTALS]))
    assert field("price", "orders") in api.columns(field("total", "totals"))


def test_a_dataset_events_column_lineage_is_kept(api: Api) -> None:
    api.send(dataset_event(1, ORDERS), dataset_event(2, TOTALS))
    assert field("price", "orders") in api.columns(field("total", "totals"))


def test_dataset_level_lineage_reaches_every_column(api: Api) -> None:
    told = lineage(total=[comes_from("orders", "price")])
    told["dataset"] = [comes_from("filters", "active")]
    out = dataset("totals", schema=schema("total", "count"), columnLineage=told)
    api.send(run_event(outputs=[out]))
    assert set(api.columns(field("count", "totals"))) == {
        field("count", "totals"), field("active", "filters")
    }  # fmt: skip
    down = api.columns(field("active", "filters"), withDownstream="true")
    assert set(down) == {field(n, "totals") for n in ("total", "count")} | {
        field("active", "filters")
    }


def test_transformations_are_told_in_detail(api: Api) -> None:
    step = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "sum", "masking": True}
    told = lineage(total=[comes_from("orders", "price", transformations=[step])])
    api.send(run_event(outputs=[dataset("totals", schema=schema("total"), columnLineage=told)]))
    found = api.columns(field("total", "totals"), detail="true")
    given = found[field("total", "totals")]["data"]["inputFields"][0]
    assert given["transformations"] == [step]
    assert given["job"] == {"namespace": "jobs", "name": "job"}


def test_the_older_form_of_column_lineage_is_understood(api: Api) -> None:
    told = facet(
        fields={
            "total": {
                "inputFields": [comes_from("orders", "price")],
                "transformationDescription": "sum of prices",
                "transformationType": "MASKED",
            }
        }
    )
    api.send(run_event(outputs=[dataset("totals", schema=schema("total"), columnLineage=told)]))
    data = api.columns(field("total", "totals"))[field("total", "totals")]["data"]
    assert data["transformationDescription"] == "sum of prices"
    assert data["transformationType"] == "MASKED"


def test_nested_fields_are_columns_with_dotted_names(api: Api) -> None:
    nested = {
        "name": "address",
        "type": "struct",
        "fields": [{"name": "city", "type": "string", "fields": [{"name": "code", "type": "int"}]}],
    }
    told = lineage(**{"address.city.code": [comes_from("orders", "price")]})
    out = dataset("people", schema=facet(fields=[nested]), columnLineage=told)
    api.send(run_event(outputs=[out]))
    names = [f["name"] for f in api.dataset("people")["fields"]]
    assert names == ["address", "address.city", "address.city.code"]
    assert field("price", "orders") in api.columns(field("address.city.code", "people"))
    found = api.get("/search", q="city.code", filter="FIELD")["results"]
    assert [r["nodeId"] for r in found] == [field("address.city.code", "people")]


def test_an_unknown_column_is_not_found(api: Api) -> None:
    api.send(run_event(outputs=[TOTALS]))
    assert api.status("/column-lineage", nodeId=field("nothing", "totals")) == 404


def test_a_table_of_twenty_thousand_columns_is_stored_and_readable(api: Api) -> None:
    names = [f"column_{n}" for n in range(20_000)]
    told: dict[str, Any] = lineage(**{n: [comes_from("wide", n)] for n in names})
    out = dataset("wider", schema=schema(*names), columnLineage=told)
    answer = api.post(
        as_bytes(run_event(inputs=[dataset("wide", schema=schema(*names))], outputs=[out]))
    )
    assert answer.status_code == 201
    assert len(api.dataset("wider")["fields"]) == 20_000
    assert set(api.columns(field("column_19999", "wider"))) == {
        field("column_19999", "wider"), field("column_19999", "wide")
    }  # fmt: skip
    assert len(api.columns("dataset:db:wider")) == 40_000


@pytest.mark.parametrize("sign", ["#", ":", "/", " ", "?", "%41", "é", "漢", "🐟", "'", '"', "\\"])
def test_column_names_hold_any_characters(api: Api, sign: str) -> None:
    name = f"a{sign}b"
    told = lineage(**{name: [comes_from("orders", name)]})
    fields = facet(fields=[{"name": name, "type": "string"}])
    api.send(run_event(outputs=[dataset("totals", schema=fields, columnLineage=told)]))
    assert field(name, "orders") in api.columns(field(name, "totals"))
