"""A name means what a person means by it, and every name that is told can be asked for."""

from typing import Any

import pytest

from server.api import Api
from server.events import (
    Event,
    comes_from,
    dataset,
    facet,
    lineage,
    run_event,
    run_id,
    schema,
    symlinks,
)

KAFKA, LAKE, BUCKET, HIVE = (
    "kafka://broker:9092",
    "s3://warehouse",
    "s3://fh-dev-bucket",
    "hive://meta:9083",
)


def _lab(api: Api) -> None:
    """The lab's names: a topic, a table and files, all called `orders`; a job like its table."""
    columns = schema("id:long", "price:double")
    topic = dataset("orders", KAFKA, schema=columns)
    table = dataset(
        "orders", LAKE, schema=columns, symlinks=symlinks((HIVE, "default.orders")),
        columnLineage=lineage(price=[comes_from("orders", "price", KAFKA)]),
    )  # fmt: skip
    files = dataset("orders", BUCKET, schema=columns)
    stats = dataset(
        "supplier_stats", LAKE, schema=schema("total"),
        symlinks=symlinks((HIVE, "default.supplier_stats")),
    )  # fmt: skip
    windows = dataset("supplier-stats", KAFKA, schema=schema("total"))
    jobs: list[tuple[str, list[Event], Event]] = [
        ("orders-source", [], topic),
        ("orders-iceberg-sink", [topic], table),
        ("orders-s3-sink", [topic], files),
        ("supplier-stats", [topic], windows),
        ("supplier_stats", [table], stats),
    ]
    for number, (job, inputs, output) in enumerate(jobs):
        api.send(run_event("RUNNING", number, run=job, job=job, inputs=inputs, outputs=[output]))


def _ask(api: Api, name: str, **params: str) -> Any:
    return api.get("/resolve", name=name, **params)


def _id(api: Api, name: str, **params: str) -> str:
    found: str = _ask(api, name, **params)["node"]["nodeId"]
    return found


TABLE = f"dataset:{LAKE}:orders"
PRICE = f"datasetField:{LAKE}:orders:price"


def test_a_short_name_means_the_table_and_the_others_are_told(api: Api) -> None:
    _lab(api)
    told = _ask(api, "orders.price")
    assert told["node"]["nodeId"] == PRICE
    assert [one["label"] for one in told["others"]] == ["topic:orders.price", "files:orders.price"]
    assert told["total"] == 3
    told = _ask(api, "supplier_stats")
    assert told["node"]["nodeId"] == f"dataset:{LAKE}:supplier_stats"
    assert [one["label"] for one in told["others"]] == ["job:supplier_stats"]
    for name, meant in {
        "orders": TABLE,
        "default.orders": TABLE,
        "ORDERS": TABLE,
        "default.orders.price": PRICE,
        f"{LAKE}/orders": TABLE,
        f"{HIVE}:default.orders": TABLE,
        f"{LAKE}/orders.price": PRICE,
        f"dataset:{HIVE}:default.orders": TABLE,
        "price": PRICE,
        "sink-that-is-not": None,
        "iceberg-sink": "job:jobs:orders-iceberg-sink",
    }.items():
        node = _ask(api, name)["node"]
        assert (node and node["nodeId"]) == meant, name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("topic:orders", f"dataset:{KAFKA}:orders"),
        ("topic:orders.price", f"datasetField:{KAFKA}:orders:price"),
        ("files:orders", f"dataset:{BUCKET}:orders"),
        ("objects:orders.price", f"datasetField:{BUCKET}:orders:price"),
        ("table:orders", TABLE),
        ("table:default.orders.price", PRICE),
        ("dataset:supplier_stats", f"dataset:{LAKE}:supplier_stats"),
        ("job:supplier_stats", "job:jobs:supplier_stats"),
        ("job:supplier-stats", "job:jobs:supplier-stats"),
        ("column:price", PRICE),
        ("field:orders.price", PRICE),
    ],
)
def test_a_kind_before_the_name_settles_it(api: Api, name: str, meant: str) -> None:
    _lab(api)
    assert _id(api, name) == meant


def test_what_is_in_use_comes_before_what_is_not_and_more_readers_before_fewer(api: Api) -> None:
    late = run_event("COMPLETE", run="new", job="d", outputs=[dataset("clicks", "kafka://b:9092")])
    api.send(
        run_event("COMPLETE", 0, run="old", job="a", outputs=[dataset("clicks", "kafka://a:9092")]),
        run_event("COMPLETE", 0, run="r", job="b", inputs=[dataset("views", "kafka://z:9092")]),
        run_event("COMPLETE", 0, run="w", job="c", outputs=[dataset("views", "kafka://a:9092")]),
        {**late, "eventTime": "2026-03-05T08:00:00Z"},
    )
    assert _id(api, "clicks") == "dataset:kafka://b:9092:clicks"
    assert _id(api, "views") == "dataset:kafka://z:9092:views"
    assert _ask(api, "views")["others"][0]["label"] == "dataset:kafka://a:9092:views"


def test_parts_of_names_are_enough_where_they_mean_one_thing(api: Api) -> None:
    _lab(api)
    assert _id(api, "s3-si") == "job:jobs:orders-s3-sink"
    told = _ask(api, "sink")
    assert told["node"] is None
    assert {one["label"] for one in told["others"]} == {
        "job:orders-iceberg-sink", "job:orders-s3-sink"}  # fmt: skip
    assert _id(api, "rders-iceberg", types="job") == "job:jobs:orders-iceberg-sink"


def test_a_name_that_nothing_has_is_told_with_names_like_it(api: Api) -> None:
    _lab(api)
    told = _ask(api, "ordrs")
    assert (told["node"], told["others"]) == (None, [])
    assert TABLE in told["suggestions"]
    assert _ask(api, "zzzzzzzz")["suggestions"] == []


def test_a_run_is_known_by_its_id(api: Api) -> None:
    _lab(api)
    for name in (run_id("supplier_stats"), f"run:{run_id('supplier_stats')}"):
        node = _ask(api, name)["node"]
        assert (node["type"], node["name"]) == ("RUN", "supplier_stats")


def test_types_narrow_the_question(api: Api) -> None:
    _lab(api)
    assert _id(api, "supplier_stats", types="job") == "job:jobs:supplier_stats"
    assert _ask(api, "topic:orders", types="job")["node"] is None
    assert api.status("/resolve", name="x", types="weather") == 400
    assert api.status("/resolve", name=" ") == 400
    assert api.status("/resolve", name="x" * 4000) == 400


ODD = [
    "job:lab:x", "dataset:a:b", "topic:orders", "a:b", "a.b.c", "a/b", "x y", "50%", "a'b", 'a"b',
    "ünï.cödé", "a\\b", "-x", "--help", "a#b", "?q=1&x=2", "[bold]x[/bold]", "column:", ":", "...",
    "run:1", "x" * 900, "a\tb", "a\x1b[31mb", "orders.price", "kafka://broker:9092",
]  # fmt: skip


def test_every_name_that_is_told_can_be_asked_for(api: Api) -> None:
    """Node ids, labels, and names with their kind; whatever names hold."""
    _lab(api)
    for number, odd in enumerate(ODD):
        columns = facet(fields=[{"name": name, "type": "string"} for name in ("id", odd)])
        api.send(
            run_event("COMPLETE", number, run=odd[:90], job=odd,
                      outputs=[dataset(odd, LAKE, schema=columns),
                               dataset(odd, KAFKA, schema=columns),
                               dataset(odd, "plain", schema=columns)]),
        )  # fmt: skip
    nodes: dict[str, Any] = {}
    for name in [*ODD, *(f"{odd}.id" for odd in ODD), "orders", "orders.price", "supplier_stats"]:
        for types in ("job", "dataset", "column"):
            told = _ask(api, name, types=types)
            for one in [told["node"], *told["others"]]:
                if one is not None:
                    nodes[one["nodeId"]] = one
    assert len(nodes) > 200
    for id_, node in nodes.items():
        assert _id(api, id_) == id_
        assert _id(api, node["label"]) == id_, node
        name = f"{node['name']}.{node['field']}" if node["field"] else node["name"]
        again = _ask(api, name, types=node["type"].lower())
        meant = [again["node"], *again["others"]]
        assert id_ in [one["nodeId"] for one in meant], (name, node)
        assert again["node"] is not None, name
