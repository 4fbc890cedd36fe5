"""Lineage run by run: versions, offsets, snapshots, and who came before and after."""

from typing import Any
from urllib.parse import quote

from server.api import Api
from server.events import dataset, facet, minute, run_event, run_id, symlinks

_KAFKA, _LAKE = "kafka://b:9092", "s3://lake"


def _progress(start: int, end: int, *snapshots: str) -> dict[str, Any]:
    offsets = [{"orders": {"0": at, "1": 10 * at}} for at in (start, end)]
    source = {"startOffset": offsets[0], "endOffset": offsets[1], "lag": 0}
    return facet(rows=end, sources=[source], snapshots=[*snapshots])


def _pipeline(api: Api) -> None:
    orders, table = dataset("orders", _KAFKA), dataset("default/orders", _LAKE)
    api.send(
        run_event("START", 0, run="gen", job="generator", outputs=[orders]),
        run_event("START", 1, run="sink", job="sink", inputs=[orders], outputs=[table]),
        run_event("RUNNING", 2, run="sink", job="sink", headwater_progress=_progress(5, 7, "11")),
        run_event("RUNNING", 3, run="sink", job="sink",
                  headwater_progress=_progress(7, 9, "12", "13")),
        run_event("COMPLETE", 4, run="stats", job="stats", inputs=[table], outputs=["stats"]),
        run_event("COMPLETE", 5, run="sink", job="sink"),
    )  # fmt: skip


def test_a_run_tells_versions_offsets_and_snapshots(api: Api) -> None:
    _pipeline(api)
    told = api.get(f"/runs/{run_id('sink')}/lineage")
    assert told["run"]["state"] == "COMPLETED"
    (source,), (sink,) = told["inputs"], told["outputs"]
    assert source["nodeId"] == f"dataset:{_KAFKA}:orders"
    assert source["offsets"] == {"0": {"from": 5, "to": 9}, "1": {"from": 50, "to": 90}}
    assert sink["snapshots"] == ["11", "12", "13"]
    assert sink["version"] == api.dataset("default/orders", _LAKE)["currentVersion"]


def test_a_run_whose_first_report_has_several_commits_starts_with_the_first_of_them(
    api: Api,
) -> None:
    orders, table = dataset("orders", _KAFKA), dataset("default/orders", _LAKE)
    commits = [
        {"batch": n, "offsets": {"orders": {"0": [10 * n, 10 * n + 10]}}, "snapshot": f"{n}"}
        for n in range(3)
    ]
    last = {"startOffset": {"orders": {"0": 20}}, "endOffset": {"orders": {"0": 30}}}
    report = facet(rows=30, sources=[last], commits=commits, snapshots=["0", "1", "2"])
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[orders], outputs=[table]),
        run_event("RUNNING", 1, run="sink", job="sink", headwater_progress=report),
    )
    (source,) = api.get(f"/runs/{run_id('sink')}/lineage")["inputs"]
    assert source["offsets"] == {"0": {"from": 0, "to": 30}}


def test_a_run_tells_the_runs_on_both_sides(api: Api) -> None:
    _pipeline(api)
    told = api.get(f"/runs/{run_id('sink')}/lineage")
    assert told["upstreamRuns"] == [{
        "runId": run_id("gen"), "job": {"namespace": "jobs", "name": "generator"},
        "via": f"dataset:{_KAFKA}:orders",
    }]  # fmt: skip
    assert [run["runId"] for run in told["downstreamRuns"]] == [run_id("stats")]
    upstream = api.get(f"/runs/{run_id('stats')}/lineage")["upstreamRuns"]
    assert [run["runId"] for run in upstream] == [run_id("sink")]
    api.send(
        run_event("COMPLETE", 6, run="again", job="sink",
                  outputs=[dataset("default/orders", _LAKE)]),
        run_event("COMPLETE", 7, run="late", job="stats",
                  inputs=[dataset("default/orders", _LAKE)]),
    )  # fmt: skip
    later = api.get(f"/runs/{run_id('late')}/lineage")["upstreamRuns"]
    assert [run["runId"] for run in later] == [run_id("again")]
    assert api.status("/runs/nonsense/lineage") == 404
    assert api.status(f"/runs/{run_id('nobody')}/lineage") == 404


def test_a_snapshot_tells_the_offsets_it_holds(api: Api) -> None:
    _pipeline(api)
    path = f"/namespaces/{quote(_LAKE, '')}/datasets/{quote('default/orders', '')}/snapshots"
    told = api.get(f"{path}/11/offsets")
    assert told["runId"] == run_id("sink")
    assert told["offsets"]["orders"]["0"] == {"from": 5, "to": 7}
    both = api.get(f"{path}/13/offsets")
    assert (both["snapshots"], both["offsets"]["orders"]["1"]) == (
        ["12", "13"], {"from": 70, "to": 90})  # fmt: skip
    assert api.status(f"{path}/99/offsets") == 404
    assert (
        api.status(f"/namespaces/{quote(_KAFKA, '')}/datasets/orders/snapshots/11/offsets") == 404
    )


def test_commits_tell_the_offsets_of_each_snapshot(api: Api) -> None:
    orders, table = dataset("orders", _KAFKA), dataset("default/orders", _LAKE)

    def told(*commits: tuple[int, str, int, int]) -> dict[str, Any]:
        listed = [{"batch": batch, "snapshot": snapshot, "sequence": batch + 1,
                   "offsets": {"orders": {"0": [start, end]}}}
                  for batch, snapshot, start, end in commits]  # fmt: skip
        return {**_progress(0, 90, *(one[1] for one in commits)), "commits": listed}

    first = told((0, "11", 0, 4), (1, "12", 4, 9))
    again = told((1, "12", 4, 9), (2, "13", 9, 30))  # by the next run of the same query
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[orders], outputs=[table]),
        run_event("RUNNING", 1, run="sink", job="sink", headwater_progress=first),
        run_event("START", 2, run="next", job="sink", inputs=[orders], outputs=[table]),
        run_event("RUNNING", 3, run="next", job="sink", headwater_progress=again),
    )
    path = f"/namespaces/{quote(_LAKE, '')}/datasets/{quote('default/orders', '')}/snapshots"
    assert api.get(f"{path}/12/offsets") == {
        "snapshot": "12", "runId": run_id("sink"), "at": minute(1), "snapshots": ["12"],
        "offsets": {"orders": {"0": {"from": 4, "to": 9}}}, "batch": 1, "sequence": 2,
    }  # fmt: skip
    assert api.get(f"{path}/13/offsets")["offsets"] == {"orders": {"0": {"from": 9, "to": 30}}}
    assert [(one["id"], one["runId"]) for one in api.get(path)["snapshots"]] == [
        ("13", run_id("next")), ("12", run_id("sink")), ("11", run_id("sink")),
    ]  # fmt: skip


def test_a_run_tells_its_progress_over_time(api: Api) -> None:
    _pipeline(api)
    points = api.get(f"/runs/{run_id('sink')}/progress")["points"]
    assert [(one["at"], one["rows"], one["lagRows"]) for one in points] == [
        (minute(2), 7, 0), (minute(3), 9, 0),
    ]  # fmt: skip
    assert api.get(f"/runs/{run_id('gen')}/progress") == {"points": []}


def test_a_table_tells_its_snapshots_newest_first(api: Api) -> None:
    _pipeline(api)
    told = api.get(
        f"/namespaces/{quote(_LAKE, '')}/datasets/{quote('default/orders', '')}/snapshots"
    )
    found = [(one["id"], one["at"], one["runId"]) for one in told["snapshots"]]
    assert found == [
        ("13", minute(3), run_id("sink")),
        ("12", minute(3), run_id("sink")),
        ("11", minute(2), run_id("sink")),
    ]
    assert api.get(f"/namespaces/{quote(_KAFKA, '')}/datasets/orders/snapshots")["snapshots"] == []


def test_tables_are_listed_with_their_newest_snapshot_and_their_other_names(api: Api) -> None:
    _pipeline(api)
    named = symlinks(("hive://meta", "default.hourly"))
    hourly = dataset("default/hourly", _LAKE, symlinks=named)
    api.send(run_event("COMPLETE", 1, run="hourly", job="hourly", outputs=[hourly]))
    first, second = api.get("/tables")["tables"]
    assert (first["name"], first["snapshots"]) == ("default/orders", 3)
    assert (first["last"]["id"], first["last"]["runId"]) == ("13", run_id("sink"))
    assert (second["name"], second["snapshots"], second["last"]) == ("default/hourly", 0, None)
    assert second["aliases"] == [{"namespace": "hive://meta", "name": "default.hourly"}]
