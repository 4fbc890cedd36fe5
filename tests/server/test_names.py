"""One dataset, many names; and names with any characters in them."""

import itertools
from pathlib import Path
from urllib.parse import quote

import pytest

from headwater.openlineage.checks import MAX_SYMLINKS
from headwater.server.store.aliases import MOST_NAMES
from server.api import Api
from server.conftest import open_api
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    dataset_event,
    facet,
    lineage,
    run_event,
    schema,
    symlinks,
)

TABLE = dataset("sales.orders", "hive://meta", symlinks=symlinks(("s3://lake", "/orders")))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_symlinks_join_whenever_they_are_learned(api: Api, order: tuple[int, ...]) -> None:
    told = [
        run_event("COMPLETE", 1, run="w", job="write", outputs=[dataset("/orders", "s3://lake")]),
        run_event(
            "COMPLETE", 2, run="r", job="read", inputs=[dataset("sales.orders", "hive://meta")]
        ),
        dataset_event(3, TABLE),
    ]
    api.send(*(told[i] for i in order))
    for node in ("dataset:s3://lake:/orders", "dataset:hive://meta:sales.orders"):
        assert set(api.lineage(node)) == {
            "dataset:hive://meta:sales.orders", "job:jobs:write", "job:jobs:read"
        }  # fmt: skip
    assert api.dataset("/orders", "s3://lake")["name"] == "sales.orders"
    assert api.outputs("write") == api.inputs("read") == ["sales.orders"]


def test_symlinks_join_columns(api: Api) -> None:
    told = lineage(x=[comes_from("/orders", "x", "s3://lake")])
    api.send(
        run_event("COMPLETE", 1, outputs=[dataset("out", schema=schema("x"), columnLineage=told)])
    )
    api.send(dataset_event(2, TABLE))
    node = "datasetField:hive://meta:sales.orders:x"
    assert node in api.columns("datasetField:db:out:x")
    assert "datasetField:db:out:x" in api.columns(node, withDownstream="true")


def test_names_are_joined_over_several_steps(api: Api) -> None:
    api.send(dataset_event(1, dataset("a", symlinks=symlinks(("db", "b")))))
    api.send(dataset_event(2, dataset("c", symlinks=symlinks(("db", "d")))))
    api.send(dataset_event(3, dataset("d", symlinks=symlinks(("db", "b")))))
    assert {api.dataset(name)["name"] for name in "abcd"} == {"a"}
    assert api.get("/namespaces/db/datasets")["totalCount"] == 1


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_the_first_by_name_tells_what_only_one_can(api: Api, order: tuple[int, ...]) -> None:
    told = [
        dataset_event(1, dataset("root", symlinks=symlinks(("db", "b"), ("db", "a")))),
        dataset_event(2, dataset("b", documentation=facet(description="of b"))),
        dataset_event(2, dataset("a", documentation=facet(description="of a"))),
    ]
    for place in order:
        api.send(told[place])
    assert api.dataset("root")["description"] == "of a"


def test_s3a_and_s3n_are_s3(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="w", job="write", outputs=[dataset("x", "s3a://lake")]))
    api.send(run_event("COMPLETE", 2, run="r", job="read", inputs=[dataset("x", "s3n://lake")]))
    for space in ("s3://lake", "s3a://lake", "s3n://lake"):
        assert set(api.lineage(f"dataset:{space}:x")) == {
            "dataset:s3://lake:x", "job:jobs:write", "job:jobs:read"
        }  # fmt: skip
    assert api.dataset("x", "s3a://lake")["namespace"] == "s3://lake"


BROKERS = (("kafka://b2:9092", "kafka://b1:9092"), ("kafka://b3:9092", "kafka://b1:9092"))


def test_brokers_of_one_cluster_are_one_namespace(store_url: str) -> None:
    with open_api(store_url, aliases=BROKERS) as api:
        api.send(
            run_event("COMPLETE", 1, run="w", job="w", outputs=[dataset("t", "kafka://b2:9092")])
        )
        api.send(
            run_event("COMPLETE", 2, run="r", job="r", inputs=[dataset("t", "kafka://b3:9092")])
        )
        assert set(api.lineage("dataset:kafka://b3:9092:t")) == {
            "dataset:kafka://b1:9092:t", "job:jobs:w", "job:jobs:r"
        }  # fmt: skip


def test_a_rule_given_later_joins_what_was_stored(store_url: str) -> None:
    with open_api(store_url) as api:
        api.send(
            run_event("COMPLETE", 1, run="w", job="w", outputs=[dataset("t", "kafka://b2:9092")])
        )
        api.send(
            run_event("COMPLETE", 2, run="r", job="r", inputs=[dataset("t", "kafka://b1:9092")])
        )
        assert set(api.lineage("dataset:kafka://b1:9092:t")) == {
            "dataset:kafka://b1:9092:t", "job:jobs:r"
        }  # fmt: skip
    with open_api(store_url, aliases=BROKERS) as api:
        for broker in ("b1", "b2", "b3"):
            assert set(api.lineage(f"dataset:kafka://{broker}:9092:t")) == {
                "dataset:kafka://b1:9092:t", "job:jobs:w", "job:jobs:r"
            }  # fmt: skip


NAMES = [
    "a:b", ":a", "a:", "a/b", "/", "a b", "a?b", "a#b", "#", "a%2Fb", "2026_x", "9092", "é", "漢字",
    "🐟", "a#3f0e8c1a-7f4e-4a3f-9b57-0d6f6f1f0a11", "a\\b", 'a"b', "a'b", "a&b=c", "a;b", "a\tb",
    "x" * 1024, "null", "...", "./", "../", "/.", "/..", "a/../b", "a.", ".a", "%2e",
    "%2E%2E", ". ", "\uff0e", "\u2025",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_hold_any_characters(api: Api, name: str) -> None:
    space = "postgres://h:5432"
    event = run_event("COMPLETE", 1, job=name, outputs=[dataset(name, space, schema=schema("x"))])
    event["job"]["namespace"] = f"jobs {name}"[:1000]
    api.send(event)
    assert api.dataset(name, space)["name"] == name
    assert api.job(name, event["job"]["namespace"])["name"] == name
    both = {f"dataset:{space}:{name}", f"job:{event['job']['namespace']}:{name}"}
    for node in both:
        assert set(api.lineage(node)) == both
    columns = api.get("/column-lineage", nodeId=f"dataset:{space}:{name}", withDownstream=True)
    assert isinstance(columns["graph"], list)
    assert api.get(f"/namespaces/{quote(space, '')}/datasets")["datasets"][0]["name"] == name


def test_a_rename_leads_from_the_old_name_to_the_new(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", job="load", outputs=["old"]))
    renamed = facet(
        lifecycleStateChange="RENAME", previousIdentifier={"namespace": "db", "name": "old"}
    )
    new = dataset("new", lifecycleStateChange=renamed)
    api.send(run_event("COMPLETE", 2, run="b", job="rename", outputs=[new]))
    assert set(api.lineage("dataset:db:new")) == {
        "dataset:db:old", "dataset:db:new", "job:jobs:load", "job:jobs:rename"
    }  # fmt: skip
    assert api.dataset("new")["lastLifecycleState"] == "RENAME"


def test_a_dropped_dataset_says_so_until_it_is_created_again(api: Api) -> None:
    def state(word: str, at: float) -> None:
        told = dataset("t", lifecycleStateChange=facet(lifecycleStateChange=word))
        api.send(run_event("COMPLETE", at, run=f"r{at}", outputs=[told]))

    state("DROP", 2)
    state("CREATE", 1)
    assert (api.dataset("t")["lastLifecycleState"], api.dataset("t")["deleted"]) == ("DROP", True)
    state("CREATE", 3)
    assert api.dataset("t")["deleted"] is False


def test_a_dataset_without_source_does_not_break_the_sources(api: Api) -> None:
    told = dataset("t", dataSource=facet(name="warehouse", uri="postgres://h:5432/w"))
    api.send(run_event("COMPLETE", 1, inputs=["plain"], outputs=[told]))
    found = api.get("/sources")["sources"]
    assert [(s["name"], s["connectionUrl"]) for s in found] == [
        ("warehouse", "postgres://h:5432/w")
    ]
    assert api.dataset("t")["sourceName"] == "warehouse"
    assert api.dataset("plain")["sourceName"] == "db"


def test_a_deleted_dataset_is_hidden_until_an_event_names_it(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, inputs=["a"], outputs=["b"]))
    assert api.client.delete("/api/v1/namespaces/db/datasets/a").status_code == 200
    assert api.status("/namespaces/db/datasets/a") == 404
    assert set(api.lineage("job:jobs:job")) == {"job:jobs:job", "dataset:db:b"}
    assert api.get("/search", q="a", filter="DATASET")["totalCount"] == 0
    api.send(run_event("COMPLETE", 2, run="again", inputs=["a"], outputs=["b"]))
    assert "dataset:db:a" in api.lineage("job:jobs:job")


def test_a_deleted_job_is_hidden_until_an_event_names_it(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, outputs=["b"]))
    assert api.client.delete("/api/v1/namespaces/jobs/jobs/job").status_code == 200
    assert api.status("/namespaces/jobs/jobs/job") == 404
    assert set(api.lineage("dataset:db:b")) == {"dataset:db:b"}
    api.send(run_event("START", 2, run="again"))
    assert set(api.lineage("dataset:db:b")) == {"dataset:db:b", "job:jobs:job"}


def test_a_deleted_namespace_hides_what_it_holds(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, outputs=["b"]))
    assert api.client.delete("/api/v1/namespaces/db").status_code == 200
    assert api.status("/namespaces/db/datasets/b") == 404
    api.send(run_event("COMPLETE", 2, run="again", outputs=["b"]))
    assert api.dataset("b")["name"] == "b"
    assert "db" in [n["name"] for n in api.get("/namespaces")["namespaces"]]


def test_a_store_can_be_in_a_folder_with_spaces(tmp_path: Path) -> None:
    with open_api(f"sqlite:///{tmp_path}/a folder/über.db") as api:
        api.send(run_event())
    assert (tmp_path / "a folder" / "über.db").exists()


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("dataset:db:a:b", "a:b"),
        ("dataset:kafka://h:9092:a:b", "a:b"),
        ("dataset:s3://bucket:a:b", "a:b"),
        ("job:jobs:x:y", "x:y"),
        ("dataset:alone", "alone"),
    ],
)
def test_a_message_names_a_missing_node_by_its_whole_name(api: Api, node: str, name: str) -> None:
    answer = api.client.get("/api/v1/lineage", params={"nodeId": node})
    assert answer.status_code == 404
    assert f"'{name}' not found." in answer.json()["message"]


def _linked(name: str, others: range, at: float = 1) -> Event:
    links = symlinks(*[("db", f"other_{number}") for number in others])
    return dataset_event(at, dataset(name, symlinks=links))


def test_an_event_gives_a_dataset_at_most_a_hundred_other_names(api: Api) -> None:
    refused = api.post(as_bytes(_linked("many", range(MAX_SYMLINKS + 1))))
    assert refused.status_code == 422
    assert "symlinks.identifiers" in refused.text
    assert f"{MAX_SYMLINKS} is the most" in refused.text
    assert api.status("/namespaces/db/datasets/many") == 404
    api.send(_linked("many", range(MAX_SYMLINKS)))
    assert api.get("/namespaces/db/datasets")["totalCount"] == 1


@pytest.mark.parametrize("together", [True, False])
def test_a_dataset_has_at_most_a_thousand_names(api: Api, together: bool) -> None:
    """Names beyond are kept in the events that report them, and are datasets of their own."""
    step, count = MAX_SYMLINKS, 13
    events = [_linked("many", range(i * step, (i + 1) * step), 1 + i / 60) for i in range(count)]
    (api.send_batch if together else api.send)(*events)
    api.send(_linked("beyond", range(count * step - 1, count * step)))
    api.send(*events[-2:])  # once more, after which all is as it was
    names, listed = count * step + 2, api.get("/namespaces/db/datasets", limit=10_000)
    alone = {found["name"] for found in listed["datasets"]}
    assert len(alone) == listed["totalCount"]
    assert "many" in alone
    # Another pair is joined: "beyond" and the last.
    assert len(alone) == 1 + (names - MOST_NAMES) - 1
    assert api.get("/events/lineage", kind="all")["totalCount"] > count
    for name in ("many", "other_0", "beyond", f"other_{names - 3}"):
        assert api.dataset(name)["name"] in alone
        assert len(api.lineage(f"dataset:db:{name}")) == 1
        assert api.lineage(f"dataset:db:{name}", asOf="2026-03-02T09:00:00Z")
