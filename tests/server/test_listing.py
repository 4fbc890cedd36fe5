"""Runs and datasets across namespaces, and clusters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.errors import UsageError
from headwater.server.http.routes.topics import topic_node
from headwater.server.lineage.view import StoreViews
from headwater.server.settings import DEFAULT_ALIASES, parse_clusters
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.api import Api
from server.conftest import open_api
from server.events import dataset, minute, run_event, run_id, schema, symlinks


def test_runs_of_all_jobs_are_listed_latest_first(api: Api) -> None:
    api.send(
        run_event("COMPLETE", run="a", job="one"),
        run_event("FAIL", 1, run="b", job="two"),
        run_event("RUNNING", 2, run="c", job="one"),
    )
    found = api.get("/runs")
    assert found["totalCount"] == 3
    assert [(told["job"]["name"], told["run"]["id"]) for told in found["runs"]] == [
        ("one", run_id("c")), ("two", run_id("b")), ("one", run_id("a")),
    ]  # fmt: skip
    failed = api.get("/runs", state="FAILED")
    assert (failed["totalCount"], failed["runs"][0]["run"]["id"]) == (1, run_id("b"))
    assert api.get("/runs", limit=1, offset=1)["runs"][0]["run"]["id"] == run_id("b")


def test_runs_of_all_jobs_are_ordered_by_time_whatever_arrived_first(api: Api) -> None:
    api.send(*(run_event("COMPLETE", at, run=f"r{at}", job=f"j{at % 2}") for at in (2, 9, 4)))
    found = api.get("/runs")["runs"]
    assert [told["run"]["createdAt"] for told in found] == [minute(9), minute(4), minute(2)]
    # A run that began earlier does not move up when it is heard of again.
    api.send(run_event("COMPLETE", 20, run="r2", job="j0"))
    assert api.get("/runs", limit=1)["runs"][0]["run"]["id"] == run_id("r9")


def test_datasets_of_all_namespaces_are_listed_and_found_by_a_part_of_their_name(api: Api) -> None:
    told = dataset("Orders_raw", "kafka://b:9092", schema=schema("price:double"))
    api.send(run_event("COMPLETE", inputs=[told], outputs=[dataset("orders%")]))
    assert api.get("/datasets")["totalCount"] == 2
    found = api.get("/datasets", q="orders_")["datasets"]
    assert [(one["name"], one["fields"][0]["name"]) for one in found] == [("Orders_raw", "price")]
    assert [one["name"] for one in api.get("/datasets", q="%")["datasets"]] == ["orders%"]
    assert [one["name"] for one in api.get("/datasets", namespace="db")["datasets"]] == ["orders%"]
    assert found[0]["updatedAt"] == minute(0)


def test_jobs_are_found_by_a_part_of_their_name_or_by_whole_names(api: Api) -> None:
    names = ("Orders_source", "orders%", "stats")
    api.send(*(run_event("COMPLETE", at, run=n, job=n) for at, n in enumerate(names)))
    found = api.get("/jobs", q="orders_")
    assert (found["totalCount"], [job["name"] for job in found["jobs"]]) == (1, ["Orders_source"])
    assert [job["name"] for job in api.get("/jobs", q="%")["jobs"]] == ["orders%"]
    exact = api.get("/jobs", name=["stats", "orders%", "orders"])["jobs"]
    assert [job["name"] for job in exact] == ["stats", "orders%"]


def test_a_topic_links_to_the_node_that_lineage_has_of_it(api: Api, store_url: str) -> None:
    told = dataset("orders", "kafka://b:9092", symlinks=symlinks(("kafka://other:1", "orders")))
    api.send(run_event(outputs=[told]))
    servers = ["a:9092", "other:1"]
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        with StoreViews(store.database, store.rules).open_view() as view:
            node = topic_node(view, servers, "orders")
            assert topic_node(view, servers, "bids") is None
    finally:
        store.close()
    assert node == "dataset:kafka://b:9092:orders"
    assert node in api.lineage(node)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Api]:
    """A server told of a cluster that is not there."""
    clusters = (("lab", "http://user:hidden@127.0.0.1:9"),)
    with open_api(f"sqlite:///{tmp_path}/x.db", connect=clusters) as found:
        yield found


def test_a_cluster_that_does_not_answer_is_told_and_its_password_is_not(alone: Api) -> None:
    (told,) = alone.get("/pipelines")
    assert (told["name"], told["reachable"]) == ("lab", False)
    assert "hidden" not in told["url"]
    answer = alone.client.get("/api/v1/pipelines/lab/connectors")
    assert answer.status_code == 502
    assert "hidden" not in answer.text


def test_only_known_clusters_and_their_connectors_are_reached(alone: Api) -> None:
    assert alone.status("/pipelines/other/connectors") == 404
    assert alone.status("/pipelines/lab/admin/loggers") == 404
    assert alone.status("/pipelines/lab/connectors/../admin") == 404


def test_an_unknown_kafka_cluster_is_called_so(alone: Api) -> None:
    for path in ("topics", "topics/x", "topics/x/messages"):
        answer = alone.client.get(f"/api/v1/kafka/other/{path}")
        assert answer.status_code == 404
        assert answer.json()["message"] == "no Kafka cluster is called 'other'"
        assert "--kafka NAME=HOST:PORT" in answer.json()["hint"]


def test_clusters_are_named_by_their_address() -> None:
    told = parse_clusters("a=http://x:1, b=https://y")
    assert told == (("a", "http://x:1"), ("b", "https://y"))
    with pytest.raises(UsageError, match="is not a pipeline"):
        parse_clusters("http://x:1")
