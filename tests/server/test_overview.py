"""What the page opens on: everything where it is little, else the busiest part."""

from server.api import Api
from server.events import dataset, minute, parent, run_event, schema


def chain(api: Api, length: int, name: str = "job", first: int = 0) -> None:
    """Jobs in a row, each reading what the one before wrote."""
    for number in range(first, first + length):
        api.send(
            run_event("COMPLETE", run=f"{name}-{number}", job=f"{name}-{number}",
                inputs=[dataset(f"{name}-{number}")], outputs=[dataset(f"{name}-{number + 1}")],
            )
        )  # fmt: skip


def test_an_empty_store_has_an_empty_graph(api: Api) -> None:
    assert api.get("/lineage/whole") == {"graph": [], "total": 0, "whole": True}


def test_a_small_graph_is_told_whole(api: Api) -> None:
    chain(api, 3)
    found = api.get("/lineage/whole")
    assert (found["whole"], found["total"], len(found["graph"])) == (True, 7, 7)
    edges = {(e["origin"], e["destination"]) for n in found["graph"] for e in n["inEdges"]}
    assert ("job:jobs:job-0", "dataset:db:job-1") in edges


def test_of_a_large_graph_a_connected_part_around_the_busiest_job_is_told(api: Api) -> None:
    chain(api, 10)
    chain(api, 2, "lonely")
    hub = [dataset("job-5"), dataset("hub-a"), dataset("hub-b")]
    api.send(run_event("COMPLETE", run="hub", job="hub", inputs=hub, outputs=[dataset("hub-c")]))
    found = api.get("/lineage/whole", limit=12)
    ids = {node["id"] for node in found["graph"]}
    assert found["whole"] is False
    assert found["total"] == 10 + 11 + 2 + 3 + 1 + 3
    assert len(ids) <= 12
    assert {"job:jobs:hub", "dataset:db:job-5", "job:jobs:job-5"} <= ids
    assert not any("lonely" in one for one in ids)


def test_a_running_job_is_busier_than_a_finished_one(api: Api) -> None:
    chain(api, 6)
    api.send(
        run_event("RUNNING", run="now", job="now", inputs=[dataset("in")], outputs=[dataset("out")])
    )
    ids = {node["id"] for node in api.get("/lineage/whole", limit=3)["graph"]}
    assert ids == {"job:jobs:now", "dataset:db:in", "dataset:db:out"}


def test_jobs_without_datasets_are_left_out(api: Api) -> None:
    chain(api, 1)
    api.send(run_event("START", run="bare", job="bare"))
    assert len(api.get("/lineage/whole")["graph"]) == 3


def test_the_graph_is_told_as_it_was(api: Api) -> None:
    api.send(run_event("COMPLETE", 0, run="a", outputs=[dataset("old")]))
    api.send(run_event("COMPLETE", 10, run="b", outputs=[dataset("new")]))
    then = {node["id"] for node in api.get("/lineage/whole", asOf=minute(5))["graph"]}
    now = {node["id"] for node in api.get("/lineage/whole")["graph"]}
    assert then == {"job:jobs:job", "dataset:db:old"}
    assert now == {"job:jobs:job", "dataset:db:new"}


def test_a_brief_graph_has_edges_and_states_but_no_columns(api: Api) -> None:
    columns = schema("id:int", "price:double")
    api.send(run_event("COMPLETE", run="a", inputs=[dataset("in", schema=columns)],
                       outputs=[dataset("out", schema=columns)]))  # fmt: skip
    full, brief = (api.get("/lineage/whole", brief=short)["graph"] for short in (False, True))
    edges = [
        [(node["id"], node["inEdges"], node["outEdges"]) for node in told] for told in (full, brief)
    ]
    assert edges[0] == edges[1]
    fields = [
        {len(node["data"]["fields"]) for node in told if node["type"] == "DATASET"}
        for told in (full, brief)
    ]
    assert fields == [{2}, {0}]
    run = next(node["data"]["latestRun"] for node in brief if node["type"] == "JOB")
    assert (run["state"], run["inputDatasetVersions"]) == ("COMPLETED", [])
    # What is kept of the brief answer is never given for the full one.
    assert api.get("/lineage/whole")["graph"] == full


def test_parents_stand_for_their_children_when_asked_to(api: Api) -> None:
    for child in ("a", "b"):
        told = parent("app", "app")
        api.send(run_event("COMPLETE", run=child, job=child, inputs=[dataset("in")],
                           outputs=[dataset(child)], parent=told))  # fmt: skip
    found = api.get("/lineage/whole", aggregateByParentRun=True)["graph"]
    assert [n["id"] for n in found if n["type"] == "JOB"] == ["job:jobs:app"]
