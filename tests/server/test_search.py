"""Search finds jobs, datasets, columns and runs: by name, by its beginning, and misspelt."""

from typing import Any

from server.api import Api
from server.events import dataset, run_event, run_id, schema, symlinks


def _lab(api: Api) -> None:
    columns = schema("order_id", "price", "customer_name")
    api.send(
        run_event("COMPLETE", 0, run="a", job="orders-iceberg-sink", inputs=["orders"],
                  outputs=[dataset("default/orders", "s3://lake", schema=columns)]),
        run_event("FAIL", 1, run="b", job="reorder", inputs=["preorders"], outputs=["prices"]),
    )  # fmt: skip


def _found(api: Api, text: str, types: str, **params: Any) -> list[tuple[str, str]]:
    results = api.get("/search", q=text, types=types, **params)["results"]
    return [(one["type"], one["nodeId"]) for one in results]


def test_the_best_comes_first(api: Api) -> None:
    _lab(api)
    assert _found(api, "orders", "job,dataset")[:4] == [
        ("DATASET", "dataset:db:orders"),
        ("JOB", "job:jobs:orders-iceberg-sink"),
        ("DATASET", "dataset:s3://lake:default/orders"),
        ("DATASET", "dataset:db:preorders"),
    ]
    assert _found(api, "orders", "dataset", namespace="s3://lake") == [
        ("DATASET", "dataset:s3://lake:default/orders")
    ]
    assert _found(api, "orders", "job", limit=1) == [("JOB", "job:jobs:orders-iceberg-sink")]


def test_columns_and_runs_are_found_with_what_the_page_needs(api: Api) -> None:
    _lab(api)
    (column,) = api.get("/search", q="customer", types="column")["results"]
    assert column["nodeId"] == "datasetField:s3://lake:default/orders:customer_name"
    assert (column["type"], column["name"], column["namespace"], column["field"]) == (
        "COLUMN", "default/orders", "s3://lake", "customer_name")  # fmt: skip
    for text in (run_id("b"), run_id("b")[:8]):
        (run,) = api.get("/search", q=text, types="run")["results"]
        assert (run["nodeId"], run["name"], run["state"]) == (
            f"run:{run_id('b')}", "reorder", "FAILED")  # fmt: skip
    job = api.get("/search", q="reorder", types="job")["results"][0]
    assert job["state"] == "FAILED"


def test_a_misspelt_name_is_found_behind_what_fits(api: Api) -> None:
    _lab(api)
    assert ("COLUMN", "datasetField:s3://lake:default/orders:customer_name") in _found(
        api, "custommer_name", "column"
    )
    assert _found(api, "icebreg-sink", "job") == [("JOB", "job:jobs:orders-iceberg-sink")]
    assert _found(api, "zzzzzz", "job,dataset,column,run") == []


def test_signs_in_the_text_are_only_text(api: Api) -> None:
    _lab(api)
    for text in ('"', "%", "_", "100%_", "a*b", "' OR 1=1", "ab\\", "é€"):
        for params in ({}, {"types": "job,dataset,column,run"}):
            assert api.status("/search", q=text, **params) == 200, text
    assert _found(api, "%", "dataset") == []
    assert api.status("/search", q="x", types="weather") == 400


def test_a_broad_question_counts_what_it_does_not_show(api: Api) -> None:
    names = [f"table_{n:03d}" for n in range(120)]
    api.send(run_event("COMPLETE", 0, inputs=names))
    told = api.get("/search", q="table", limit=5)
    assert [one["name"] for one in told["results"]] == names[:5]
    assert told["totalCount"] == 120
    assert len(api.get("/search", q="ta", limit=100)["results"]) == 100


def test_a_table_is_found_once_by_any_of_its_names(api: Api) -> None:
    told = symlinks(("hive://metastore", "shop.clients"), ("glue", "clients_copy"))
    api.send(run_event(outputs=[dataset("warehouse/orders", "s3://lake", symlinks=told)]))
    for text in ("clients", "shop.clients", "warehouse"):
        found = api.get("/search", q=text)
        assert [one["nodeId"] for one in found["results"]] == ["dataset:s3://lake:warehouse/orders"]
        assert found["totalCount"] == 1
