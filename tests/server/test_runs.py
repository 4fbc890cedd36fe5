"""The life of runs: event time decides, whatever arrives when."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.api import Api
from server.events import Event, as_bytes, facet, minute, run_event, run_id


def test_complete_then_a_late_start_stays_completed(api: Api) -> None:
    api.send(run_event("COMPLETE", 5), run_event("START", 1))
    run = api.run("run")
    assert (run["state"], run["startedAt"], run["endedAt"]) == ("COMPLETED", minute(1), minute(5))
    assert run["durationMs"] == 4 * 60_000


def test_fail_then_complete_stays_failed(api: Api) -> None:
    api.send(run_event("START", 1), run_event("FAIL", 2), run_event("COMPLETE", 3))
    assert api.run("run")["state"] == "FAILED"
    assert api.run("run")["endedAt"] == minute(2)


def test_an_earlier_fail_that_arrives_late_takes_the_place_of_complete(api: Api) -> None:
    api.send(run_event("COMPLETE", 3))
    assert api.run("run")["state"] == "COMPLETED"
    api.send(run_event("FAIL", 2))
    assert (api.run("run")["state"], api.run("run")["endedAt"]) == ("FAILED", minute(2))


def test_of_two_endings_at_one_instant_the_graver_is_believed(api: Api) -> None:
    api.send(run_event("COMPLETE", 3, run="a"), run_event("FAIL", 3, run="a"))
    api.send(run_event("FAIL", 3, run="b"), run_event("COMPLETE", 3, run="b"))
    assert api.run("a")["state"] == api.run("b")["state"] == "FAILED"


def test_running_after_an_ending_does_not_bring_the_run_back(api: Api) -> None:
    api.send(run_event("START", 1), run_event("ABORT", 2), run_event("RUNNING", 3))
    assert api.run("run")["state"] == "ABORTED"


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_any_order_of_arrival_gives_the_same_run(api: Api, order: tuple[int, ...]) -> None:
    told = [
        run_event("START", 1, nominalTime=facet(nominalStartTime=minute(0))),
        run_event("RUNNING", 2, outputs=["a"]),
        run_event("COMPLETE", 3, inputs=["b"], errorMessage=facet(message="none")),
    ]
    api.send(*(told[i] for i in order))
    run = api.run("run")
    assert (run["createdAt"], run["updatedAt"]) == (minute(1), minute(3))
    assert (run["startedAt"], run["endedAt"], run["state"]) == (minute(1), minute(3), "COMPLETED")
    assert run["args"] == {"nominal_start_time": minute(0)}
    assert (run["nominalStartTime"], run["nominalEndTime"]) == (minute(0), None)
    assert set(run["facets"]) == {"nominalTime", "errorMessage"}
    assert [d["datasetVersionId"]["name"] for d in run["inputDatasetVersions"]] == ["b"]
    assert [d["datasetVersionId"]["name"] for d in run["outputDatasetVersions"]] == ["a"]


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_a_run_that_starts_again_has_the_state_of_its_last_try(
    api: Api, order: tuple[int, ...]
) -> None:
    tries = [
        run_event("START", 1), run_event("FAIL", 2),
        run_event("START", 3), run_event("COMPLETE", 5),
    ]  # fmt: skip
    api.send(*(tries[i] for i in order))
    run = api.run("run")
    assert (run["state"], run["startedAt"], run["endedAt"]) == ("COMPLETED", minute(3), minute(5))
    assert (run["createdAt"], run["durationMs"]) == (minute(1), 2 * 60_000)
    api.send(run_event("RUNNING", 4), run_event("COMPLETE", 6))
    assert api.run("run") == run | {"updatedAt": minute(6)}
    api.send(run_event("START", 7))
    assert (api.run("run")["state"], api.run("run")["endedAt"]) == ("RUNNING", None)
    told = api.get(f"/jobs/runs/{run_id('run')}/tries")["tries"]
    assert [(one["state"], one["startedAt"], one["endedAt"]) for one in told] == [
        ("FAILED", minute(1), minute(2)),
        ("COMPLETED", minute(3), minute(5)),
        ("RUNNING", minute(7), None),
    ]


def test_an_older_event_that_arrives_late_does_not_become_current(api: Api) -> None:
    newer, older = (
        run_event("COMPLETE", at, run=f"r{at}", job_facets={"documentation": facet(description=d)})
        for at, d in ((5, "new"), (1, "old"))
    )
    api.send(newer, older)
    job = api.job("job")
    assert job["description"] == job["facets"]["documentation"]["description"] == "new"
    assert job["latestRun"]["id"] == run_id("r5")
    assert (job["createdAt"], job["updatedAt"]) == (minute(1), minute(5))


def test_a_facet_marked_deleted_is_gone(api: Api) -> None:
    api.send(run_event("START", 1, errorMessage=facet(message="x")))
    api.send(run_event("RUNNING", 2, errorMessage=facet(_deleted=True)))
    assert api.run("run")["facets"] == {}


def test_duplicates_are_one_event(api: Api) -> None:
    event = run_event("START", 1, outputs=["a"])
    api.send(event, event)
    assert api.post(b"[%s,%s]" % (as_bytes(event), as_bytes(event))).json()["stored"] == 2
    assert api.event_count() == 1
    assert len(api.get("/namespaces/db/datasets/a/versions")["versions"]) == 1


def test_an_event_that_only_observes_leaves_the_run_new(api: Api) -> None:
    api.send(run_event("OTHER", 1))
    assert api.run("run")["state"] == "NEW"
    assert api.run("run")["startedAt"] is None


def test_runs_are_listed_latest_first(api: Api) -> None:
    api.send(*(run_event("COMPLETE", at, run=f"r{at}") for at in (2, 9, 4)))
    listed = api.get("/namespaces/jobs/jobs/job/runs")["runs"]
    assert [run["createdAt"] for run in listed] == [minute(9), minute(4), minute(2)]


def test_job_type_says_batch_or_stream(api: Api) -> None:
    def of_type(kind: str, at: float) -> Event:
        told = facet(processingType=kind, integration="SPARK", jobType="JOB")
        return run_event("START", at, job_facets={"jobType": told})

    api.send(of_type("STREAMING", 2), of_type("BATCH", 1))
    assert api.job("job")["type"] == "STREAM"
    assert api.job("job")["labels"] == ["JOB", "SPARK"]
    api.send(of_type("BATCH", 3))
    assert api.job("job")["type"] == "BATCH"


def test_last_run_states_choose_jobs(api: Api) -> None:
    api.send(run_event("FAIL", 1, run="a", job="broken"), run_event("START", 1, run="b", job="ok"))
    found = api.get("/jobs", lastRunStates="FAILED")
    assert [job["name"] for job in found["jobs"]] == ["broken"]
    assert found["totalCount"] == 1


def test_runs_upstream_stop_where_no_run_wrote_a_dataset(api: Api) -> None:
    api.send(run_event("COMPLETE", 1, run="first", job="load", inputs=["raw"], outputs=["clean"]))
    api.send(run_event("COMPLETE", 2, run="second", inputs=["clean"], outputs=["report"]))
    found = api.get("/runlineage/upstream", runId=run_id("second"))["runs"]
    assert [told["run"]["id"] for told in found] == [run_id("second"), run_id("first")]
    assert found[0]["inputs"][0]["producedByRunId"] == run_id("first")
    assert found[1]["inputs"][0]["producedByRunId"] is None


def test_a_run_is_created_once(api: Api) -> None:
    path, run = "/api/v1/namespaces/jobs/jobs/job/runs", run_id("made")
    api.send(run_event("COMPLETE", 1))
    told = {"id": run, "nominalStartTime": minute(2), "args": {"day": "monday"}}
    assert api.client.post(path, json=told).status_code == 201
    before = api.run("made"), api.event_count()
    for again in (told, {"id": run}, {"id": run_id("run")}):
        answer = api.client.post(path, json=again)
        assert answer.status_code == 400
        assert answer.json()["message"] == f"Run '{again['id']}' already exists."
    assert (api.run("made"), api.event_count()) == before
    assert api.run("made")["args"] == {"day": "monday"}


def test_of_many_that_create_a_run_at_the_same_time_one_succeeds(api: Api) -> None:
    api.send(run_event("COMPLETE", 1))

    def create(number: int) -> int:
        told = {"id": run_id("made"), "args": {"number": str(number)}}
        return api.client.post("/api/v1/namespaces/jobs/jobs/job/runs", json=told).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = [*pool.map(create, range(8))]
    assert sorted(codes) == [201] + [400] * 7
    assert api.run("made")["args"] == {"number": str(codes.index(201))}
