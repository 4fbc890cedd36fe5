"""Jobs that start other jobs."""

import itertools
import threading

import pytest

from headwater.server.store.aliases import AliasRules
from headwater.server.store.changes import hide_namespace
from headwater.server.store.run_trees import LEVELS
from headwater.server.store.store import Store
from server.api import Api
from server.events import as_bytes, minute, parent, run_event, run_id
from server.stores import Stores

UNDER = parent("dag run", "dagB")


def test_a_child_is_found_under_its_own_name_and_shown_under_its_parent(api: Api) -> None:
    api.send(run_event("START", 1, job="taskX", outputs=["a"], parent=UNDER))
    job = api.job("taskX")
    assert (job["name"], job["simpleName"], job["parentJobName"]) == ("taskX", "taskX", "dagB")
    assert api.run("run")["args"] == {
        "run_id": run_id("dag run"), "name": "dagB", "namespace": "jobs"
    }  # fmt: skip
    assert "job:jobs:taskX" in api.lineage("dataset:db:a")
    folded = api.lineage("dataset:db:a", aggregateByParentRun="true")
    assert set(folded) == {"dataset:db:a", "job:jobs:dagB"}


def test_a_job_shows_its_children(api: Api) -> None:
    for name in ("one", "two"):
        api.send(run_event("COMPLETE", 1, run=name, job=name, outputs=[name], parent=UNDER))
    path = "/namespaces/jobs/jobs/dagB/children"
    found = api.get(path)
    assert ([job["name"] for job in found["jobs"]], found["totalCount"]) == (["one", "two"], 2)
    assert found["jobs"][0] == api.job("one")
    assert [job["name"] for job in api.get(path, limit=1, offset=1)["jobs"]] == ["two"]
    assert api.get("/namespaces/jobs/jobs/one/children") == {"jobs": [], "totalCount": 0}
    assert api.status("/namespaces/jobs/jobs/none/children") == 404


@pytest.mark.parametrize("at", [{}, {"asOf": minute(9)}])
def test_a_folded_job_does_not_read_its_own_intermediate_tables(
    api: Api, at: dict[str, str]
) -> None:
    api.send(
        run_event("COMPLETE", 1, run="a", job="one", inputs=["raw"], outputs=["mid"], parent=UNDER),
        run_event("COMPLETE", 2, run="b", job="two", inputs=["mid", "own"], outputs=["end", "own"],
                  parent=UNDER),
    )  # fmt: skip
    node = api.lineage("dataset:db:end", aggregateByParentRun="true", **at)["job:jobs:dagB"]
    assert {edge["origin"] for edge in node["inEdges"]} == {"dataset:db:raw", "dataset:db:own"}
    written = {edge["destination"] for edge in node["outEdges"]}
    assert written == {"dataset:db:mid", "dataset:db:end", "dataset:db:own"}


def test_a_child_already_named_after_its_parent_keeps_its_name(api: Api) -> None:
    api.send(run_event("START", 1, job="dagB.taskX", parent=UNDER))
    assert api.job("dagB.taskX")["simpleName"] == "taskX"


def test_a_parent_without_events_follows_its_children(api: Api) -> None:
    api.send(run_event("START", 1, run="a", job="one", parent=UNDER))
    api.send(run_event("START", 2, run="b", job="two", parent=UNDER))
    assert api.run("dag run")["state"] == "RUNNING"
    api.send(run_event("COMPLETE", 3, run="a", job="one", parent=UNDER))
    assert api.run("dag run")["state"] == "RUNNING"
    api.send(run_event("COMPLETE", 4, run="b", job="two"))
    ended = api.run("dag run")
    assert (ended["state"], ended["startedAt"], ended["endedAt"]) == (
        "COMPLETED", minute(1), minute(4)
    )  # fmt: skip


def test_a_parent_follows_a_child_that_ends_in_one_commit_with_a_deletion(stores: Stores) -> None:
    store, queued = Store(stores.new("sqlite"), AliasRules(())), threading.Event()
    start, end = (
        store.read(as_bytes(run_event(kind, at, run="a", job="one", parent=UNDER)))
        for at, kind in enumerate(("START", "COMPLETE"))
    )
    try:
        store.ingest([start]).result()
        store.writer.change(lambda _: queued.wait())
        store.ingest([end])
        deleted = store.writer.change(lambda commit: hide_namespace(commit, "other"))
        queued.set()
        deleted.result()
        with store.database.reading() as session:
            assert {*session.all("SELECT state FROM run")} == {("COMPLETED",)}
    finally:
        queued.set()
        store.close()


def test_a_parent_without_events_fails_with_a_child(api: Api) -> None:
    api.send(run_event("FAIL", 3, run="a", job="one", parent=UNDER))
    api.send(run_event("COMPLETE", 4, run="b", job="two", parent=UNDER))
    assert api.run("dag run")["state"] == "FAILED"


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_parent_with_events_ends_when_it_says_so(api: Api, order: tuple[int, ...]) -> None:
    told = [
        run_event("START", 1, run="dag run", job="dagB"),
        run_event("COMPLETE", 2, run="a", job="one", parent=UNDER),
        run_event("FAIL", 5, run="dag run", job="dagB"),
    ]
    api.send(*(told[i] for i in order[:2]))
    api.send(told[order[2]])
    found = api.run("dag run")
    assert (found["state"], found["createdAt"], found["endedAt"]) == (
        "FAILED", minute(1), minute(5)
    )  # fmt: skip


def test_a_parent_with_events_stays_running_though_its_child_ended(api: Api) -> None:
    api.send(run_event("START", 1, run="dag run", job="dagB"))
    api.send(run_event("COMPLETE", 2, run="a", job="one", parent=UNDER))
    assert api.run("dag run")["state"] == "RUNNING"


def test_the_root_of_a_tree_follows_the_runs_at_its_leaves(api: Api) -> None:
    top = parent("all", "everything")
    told = parent("dag run", "dagB", root={"run": top["run"], "job": top["job"]})
    api.send(run_event("START", 1, run="a", job="one", parent=told))
    assert api.run("all")["state"] == api.run("dag run")["state"] == "RUNNING"
    assert api.job("dagB")["parentJobName"] == "everything"
    api.send(run_event("COMPLETE", 2, run="a", job="one", parent=told))
    assert api.run("all")["state"] == api.run("dag run")["state"] == "COMPLETED"


def test_parents_that_name_each_other_do_not_stop_the_writer(api: Api) -> None:
    one, two = parent("p", "jobP"), parent("q", "jobQ")
    api.send(
        run_event("START", 1, run="a", parent={**one, "root": {k: two[k] for k in ("run", "job")}})
    )
    api.send(
        run_event("START", 2, run="b", parent={**two, "root": {k: one[k] for k in ("run", "job")}})
    )
    api.send(run_event("COMPLETE", 3, run="a"), run_event("COMPLETE", 4, run="b"))
    assert api.run("p")["state"] == api.run("q")["state"] == "COMPLETED"


def test_a_run_that_is_its_own_parent_has_none(api: Api) -> None:
    api.send(run_event("START", 1, run="a", parent=parent("a", "job")))
    assert api.job("job")["parentJobName"] is None


def test_a_run_belongs_to_the_job_of_its_first_event(api: Api) -> None:
    api.send(run_event("COMPLETE", 2, job="later", inputs=["x"], outputs=["y"]))
    api.send(run_event("START", 1, job="first"))
    assert api.job("first")["latestRun"]["id"] == run_id("run")
    assert (api.inputs("first"), api.outputs("first")) == (["x"], ["y"])
    assert (api.inputs("later"), api.job("later")["latestRun"]) == ([], None)


@pytest.mark.parametrize("ending", ["COMPLETE", "FAIL", "ABORT"])
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_child_does_not_outlive_an_application_that_ended(
    api: Api, ending: str, order: tuple[int, ...]
) -> None:
    told = [
        run_event("START", 1, run="app", job="app"),
        run_event("START", 2, run="child", job="query", parent=parent("app", "app")),
        run_event(ending, 5, run="app", job="app"),
    ]
    api.send(*(told[i] for i in order))
    child = api.run("child")
    assert (child["state"], child["endedAt"]) == ("ABORTED", minute(5))
    # What reports after that is alive: an application may start what goes on without it.
    api.send(run_event("RUNNING", 6, run="child", job="query"))
    assert (api.run("child")["state"], api.run("child")["endedAt"]) == ("RUNNING", None)


def test_the_end_of_a_root_reaches_runs_below_parents_without_events(api: Api) -> None:
    root = parent("dag", "dag")
    told = parent("task", "task", root={"run": root["run"], "job": root["job"]})
    api.send(run_event("START", 1, run="dag", job="dag"))
    api.send(run_event("START", 2, run="query", job="query", parent=told))
    assert api.run("task")["state"] == "RUNNING"
    api.send(run_event("FAIL", 3, run="dag", job="dag"))
    assert api.run("query")["state"] == api.run("task")["state"] == "ABORTED"


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_parent_that_reports_only_its_end_began_with_its_children(
    api: Api, order: tuple[int, ...]
) -> None:
    told = [
        run_event("START", 1, run="a", job="a", parent=parent("dag", "dag")),
        run_event("COMPLETE", 3, run="a", job="a", parent=parent("dag", "dag")),
        run_event("COMPLETE", 4, run="dag", job="dag"),
    ]
    for i in order:
        api.send(told[i])
        # What is kept of the answer must not become stale; at first there is no such job.
        api.client.get("/api/v1/lineage", params={"nodeId": "job:jobs:dag"})
    (shown,) = (
        node["data"]["latestRun"] for node in api.get("/lineage", nodeId="job:jobs:dag")["graph"]
    )
    for run in (api.run("dag"), shown):
        assert (run["startedAt"], run["endedAt"], run["durationMs"]) == (
            minute(1), minute(4), 3 * 60_000)  # fmt: skip


def _under(run: str, above: str, root: str) -> dict[str, object]:
    top = {key: parent(root, "silent")[key] for key in ("run", "job")}
    return run_event("START", 1, run=run, job="leaf", parent=parent(above, "silent", root=top))


@pytest.mark.parametrize("is_turned", [False, True])
def test_runs_are_followed_over_a_bounded_number_of_levels(api: Api, is_turned: bool) -> None:
    # The leaf under P0, which is under P1 and so on; those between have no other runs below them.
    chain = [_under(f"of {i}", f"P{i}", f"P{i + 1}") for i in range(LEVELS)]
    api.send_batch(*(chain[::-1] if is_turned else chain))
    for i in range(1, LEVELS):
        chain[i] = run_event("COMPLETE", 2, run=f"of {i}", job="leaf")
    api.send_batch(*(chain[1:][::-1] if is_turned else chain[1:]))
    assert api.run(f"P{LEVELS - 1}")["state"] == "RUNNING"
    assert api.run(f"P{LEVELS}")["state"] == "COMPLETED"
    api.send(run_event("FAIL", 3, run=f"P{LEVELS - 1}", job="silent"))
    assert api.run("of 0")["state"] == api.run("P0")["state"] == "ABORTED"
    assert api.run(f"P{LEVELS}")["state"] == "FAILED"


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_an_end_reaches_runs_below_runs_in_one_batch(api: Api, order: tuple[int, ...]) -> None:
    told = [
        run_event("START", 1, run="query", job="query", parent=parent("task", "task")),
        run_event("START", 1, run="task", job="task", parent=parent("dag", "dag")),
        run_event("FAIL", 2, run="dag", job="dag"),
    ]
    api.send_batch(*(told[i] for i in order))
    assert api.run("query")["state"] == api.run("task")["state"] == "ABORTED"
