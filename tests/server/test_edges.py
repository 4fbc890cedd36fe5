"""What jobs read and write, now and before."""

from server.api import Api
from server.events import dataset, job_event, minute, run_event, schema
from server.tables import FOREVER, rows, when

HEARTBEAT = run_event("RUNNING", 9)


def test_edges_appear_with_the_first_event_that_names_them(api: Api) -> None:
    api.send(run_event("START", 1, inputs=["a"], outputs=["b"]))
    nodes = api.lineage("job:jobs:job")
    assert nodes["job:jobs:job"]["inEdges"] == [
        {"origin": "dataset:db:a", "destination": "job:jobs:job"}
    ]
    assert nodes["job:jobs:job"]["outEdges"] == [
        {"origin": "job:jobs:job", "destination": "dataset:db:b"}
    ]


def test_an_event_without_datasets_wipes_nothing(api: Api) -> None:
    api.send(run_event("START", 1, run="a", inputs=["x"], outputs=["y"]))
    api.send(run_event("RUNNING", 2, run="a"), run_event("COMPLETE", 3, run="a"))
    api.send(run_event("START", 4, run="b"))
    assert (api.inputs(), api.outputs()) == (["x"], ["y"])
    api.send(run_event("COMPLETE", 5, run="b"))
    assert (api.inputs(), api.outputs()) == (["x"], ["y"])


def test_a_streaming_heartbeat_wipes_nothing(api: Api) -> None:
    api.send(run_event("START", 1, inputs=["x"], outputs=["y"]), HEARTBEAT)
    assert (api.inputs(), api.outputs()) == (["x"], ["y"])
    assert set(api.lineage("dataset:db:y")) == {"job:jobs:job", "dataset:db:x", "dataset:db:y"}


def test_events_of_one_run_name_its_datasets_together(api: Api) -> None:
    api.send(run_event("START", 1, inputs=["a"]), run_event("RUNNING", 2, inputs=["b"]))
    api.send(run_event("COMPLETE", 3, outputs=["c"]))
    assert (api.inputs(), api.outputs()) == (["a", "b"], ["c"])


def test_a_newer_run_replaces_the_edges_and_old_ones_keep_their_times(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=["x", "kept"]))
    api.send(run_event("COMPLETE", 5, run="b", inputs=["kept", "y"]))
    assert api.inputs() == ["kept", "y"]
    assert rows(api.store_url, "edge") == {
        ("job", 0, "db:kept", when(1), FOREVER),
        ("job", 0, "db:x", when(1), when(5)),
        ("job", 0, "db:y", when(5), FOREVER),
    }


def test_an_older_run_that_arrives_late_only_adds_history(api: Api) -> None:
    api.send(run_event("COMPLETE", 5, run="b", inputs=["y"]))
    api.send(run_event("COMPLETE", 1, run="a", inputs=["x"]))
    assert api.inputs() == ["y"]
    assert rows(api.store_url, "edge") == {
        ("job", 0, "db:x", when(1), when(5)),
        ("job", 0, "db:y", when(5), FOREVER),
    }


def test_a_run_that_completes_with_outputs_alone_reads_nothing(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=["x"], outputs=["y"]))
    api.send(run_event("START", 4, run="b", outputs=["y"]))
    assert api.inputs() == ["x"]
    api.send(run_event("COMPLETE", 5, run="b", outputs=["y"]))
    assert (api.inputs(), api.outputs()) == ([], ["y"])


def test_an_event_without_datasets_does_not_close_edges_in_history(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=["x"]), run_event("COMPLETE", 2, run="b"))
    assert rows(api.store_url, "edge") == {("job", 0, "db:x", when(1), FOREVER)}


def test_a_job_event_declares_edges(api: Api) -> None:
    api.send(job_event(1, inputs=["a"], outputs=["b"]))
    assert (api.inputs(), api.outputs()) == (["a"], ["b"])
    assert api.job("job")["latestRun"] is None
    assert set(api.lineage("dataset:db:b")) == {"job:jobs:job", "dataset:db:a", "dataset:db:b"}


def test_a_newer_job_event_replaces_the_edges(api: Api) -> None:
    api.send(job_event(2, inputs=["new"], outputs=["b"]), job_event(1, inputs=["old"]))
    assert (api.inputs(), api.outputs()) == (["new"], ["b"])


def test_depth_counts_jobs_both_ways(api: Api) -> None:
    for step in range(4):
        api.send(
            run_event("COMPLETE", step, run=f"r{step}", job=f"j{step}",
                      inputs=[f"d{step}"], outputs=[f"d{step + 1}"])
        )  # fmt: skip
    assert {n for n in api.lineage("job:jobs:j1", depth=0) if n.startswith("job")} == {
        "job:jobs:j1"
    }
    assert {n for n in api.lineage("job:jobs:j1", depth=1) if n.startswith("job")} == {
        "job:jobs:j0", "job:jobs:j1", "job:jobs:j2"
    }  # fmt: skip
    assert len(api.lineage("dataset:db:d2", depth=20)) == 9


def test_each_schema_that_a_run_writes_is_a_version(api: Api) -> None:
    api.send(run_event("START", 1, outputs=[dataset("t", schema=schema("a"))]))
    api.send(run_event("COMPLETE", 2, outputs=[dataset("t", schema=schema("a", "b"))]))
    found = api.get("/namespaces/db/datasets/t/versions")
    assert found["totalCount"] == 2
    assert [[f["name"] for f in v["fields"]] for v in found["versions"]] == [["a", "b"], ["a"]]
    assert [v["createdAt"] for v in found["versions"]] == [minute(2), minute(1)]
    assert api.dataset("t")["currentVersion"] == found["versions"][0]["version"]


def test_job_versions_follow_what_runs_read_and_write(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="a", inputs=["x"], outputs=["y"]))
    api.send(run_event("COMPLETE", 2, run="b", inputs=["x"], outputs=["y"]))
    api.send(run_event("COMPLETE", 3, run="c", inputs=["z"], outputs=["y"]))
    found = api.get("/namespaces/jobs/jobs/job/versions")["versions"]
    assert [[d["name"] for d in v["inputs"]] for v in found] == [["z"], ["x"]]
    assert api.job("job")["currentVersion"] == found[0]["version"]
