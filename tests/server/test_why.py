"""A snapshot of a table, followed back to the runs, snapshots and offsets that it came from."""

from typing import Any

import pytest

from server.api import Api
from server.events import dataset, facet, minute, run_event, run_id

_KAFKA, _LAKE = "kafka://b:9092", "s3://lake"
_ORDERS, _TABLE, _TOTALS = (
    dataset("orders", _KAFKA),
    dataset("default/orders", _LAKE),
    dataset("default/totals", _LAKE),
)


def _commit(batch: int, snapshot: str, start: int, end: int) -> dict[str, Any]:
    offsets = {"orders": {"0": [start, end]}}
    return {"batch": batch, "snapshot": snapshot, "sequence": batch + 1, "offsets": offsets}


def _report(*commits: dict[str, Any], **more: Any) -> dict[str, Any]:
    start, end = commits[-1]["offsets"]["orders"]["0"]  # sources are those of the last batch
    source = {"startOffset": {"orders": {"0": start}}, "endOffset": {"orders": {"0": end}}}
    snapshots = [one["snapshot"] for one in commits]
    return facet(rows=0, sources=[source], commits=[*commits], snapshots=snapshots, **more)


def _sink(at: float, report: dict[str, Any]) -> dict[str, Any]:
    return run_event("RUNNING", at, run="sink", job="sink", headwater_progress=report)


def _start(api: Api, **more: Any) -> None:
    api.send(
        run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]),
        _sink(1, _report(_commit(0, "11", 0, 10), _commit(1, "12", 10, 20), **more)),
        _sink(2, _report(_commit(2, "13", 20, 30), **more)),
        _sink(8, _report(_commit(3, "14", 30, 40), **more)),
    )


def _why(api: Api, table: dict[str, Any], snapshot: str) -> list[dict[str, Any]]:
    node = f"dataset:{table['namespace']}:{table['name']}"
    told = api.get("/why", nodeId=node, snapshot=snapshot)
    assert told["complete"]
    writes: list[dict[str, Any]] = told["writes"]
    return writes


def _range(start: int | None, end: int) -> dict[str, Any]:
    return {"orders": {"0": {"from": start, "to": end}}}


def test_a_snapshot_of_a_stream_leads_to_its_batch_and_offsets(api: Api) -> None:
    _start(api)
    (sink,) = _why(api, _TABLE, "13")
    assert (sink["name"], sink["runId"], sink["batch"]) == ("sink", run_id("sink"), 2)
    assert (sink["offsets"], sink["exact"]) == (_range(20, 30), True)
    assert sink["output"]["snapshot"] == "13"
    assert [one["name"] for one in sink["inputs"]] == ["orders"]


def _total(api: Api, at: float, version: str, snapshot: str) -> None:
    """A run of "daily" that reads a version of the table, and makes a snapshot of the totals."""
    read = {**_TABLE, "facets": {"version": facet(datasetVersion=version)}}
    done = facet(rows=1, sources=[], snapshots=[snapshot])
    api.send(run_event("COMPLETE", at, run="daily", job="daily", inputs=[read], outputs=[_TOTALS],
                       headwater_progress=done))  # fmt: skip


@pytest.mark.parametrize(("version", "end", "at"), [("13", 30, 2), ("12", 20, 1), ("11", 10, 1)])
def test_a_batch_write_leads_to_the_snapshot_it_read_and_the_offsets_behind(
    api: Api, version: str, end: int, at: int
) -> None:
    """Not to what was written between that snapshot and the time of the read."""
    _start(api)
    _total(api, 5, version, "91")
    daily, sink = _why(api, _TOTALS, "91")
    assert (daily["name"], daily["exact"], daily["offsets"]) == ("daily", True, {})
    assert [(one["name"], one["snapshot"]) for one in daily["inputs"]] == [
        ("default/orders", version)
    ]
    assert (sink["name"], sink["exact"], sink["offsets"]) == ("sink", False, _range(0, end))
    assert sink["output"]["snapshot"] == version
    assert sink["at"] == minute(at)


def test_what_keeps_state_may_hold_records_from_the_beginning(api: Api) -> None:
    _start(api, stateRows=3)
    (sink,) = _why(api, _TABLE, "14")
    assert (sink["offsets"], sink["exact"]) == (_range(None, 40), False)
    assert (sink["stateful"], sink["committed"]) == (True, _range(30, 40))
    assert "keeps state" in sink["reason"]


def test_state_is_bounded_by_the_watermark(api: Api) -> None:
    node = f"dataset:{_LAKE}:default/orders"
    api.send(run_event("START", 0, run="sink", job="sink", inputs=[_ORDERS], outputs=[_TABLE]))
    for n in range(9):
        report = _report(_commit(n, f"{n}", 10 * n, 10 * n + 10), watermark=minute(n), stateRows=1)
        api.send(_sink(n + 1, report))

    def start(snapshot: str, watermark: float) -> int | None:
        told = api.get("/why", nodeId=node, snapshot=snapshot, watermark=minute(watermark))
        (sink,) = told["writes"]
        place = sink["offsets"]["orders"]["0"]
        assert (place["to"], sink["stateful"]) == (10 * int(snapshot) + 10, True)
        found: int | None = place["from"]
        return found

    # The report of batch 4 is the last whose watermark was before; its own records count.
    assert [start("8", at) for at in (4.5, 0.5, 7.5, 99)] == [40, 0, 70, 80]
    assert start("8", -1) is None
    assert start("3", 99) == 30
    assert api.status("/why", nodeId=node, snapshot="8", watermark="soon") == 400


def test_a_commit_that_only_closes_windows_holds_what_was_read_before(api: Api) -> None:
    closing = {"batch": 1, "snapshot": "12", "sequence": 2}
    last = {"startOffset": {"orders": {"0": 10}}, "endOffset": {"orders": {"0": 10}}}
    for run, commits in (("one", [_commit(0, "11", 0, 10), closing]), ("two", [closing])):
        table = dataset(f"default/{run}", _LAKE)
        report = facet(rows=0, sources=[last], commits=commits, snapshots=["12"], stateRows=1)
        api.send(
            run_event("START", 0, run=run, job=run, inputs=[_ORDERS], outputs=[table]),
            run_event("RUNNING", 1, run=run, job=run, headwater_progress=report),
        )
        assert _why(api, table, "12")[0]["offsets"] == _range(None, 10)


def test_tables_in_a_circle_are_followed_once(api: Api) -> None:
    done = facet(rows=1, sources=[], snapshots=["91"])
    for at, run in enumerate(("one", "two")):
        api.send(run_event("COMPLETE", at, run=run, job="circle", inputs=[_TABLE], outputs=[_TABLE],
                           headwater_progress=done))  # fmt: skip
    assert [write["runId"] for write in _why(api, _TABLE, "91")] == [run_id("one")]


def test_what_nobody_reported_is_not_found(api: Api) -> None:
    _start(api)
    node = f"dataset:{_LAKE}:default/orders"
    assert api.status("/why", nodeId=node, snapshot="99") == 404
    assert api.status("/why", nodeId=f"{node}x", snapshot="11") == 404
    assert api.status("/why", nodeId="job:default:sink", snapshot="11") == 400


@pytest.mark.parametrize(
    ("node", "snapshot", "status", "told"),
    [
        (f"dataset:{_KAFKA}:orders", "13", 400, "orders is a topic"),
        (f"dataset:{_LAKE}:default/nothing", "13", 404, "'default/nothing' not found"),
        (f"dataset:{_LAKE}:default/orders", "99", 404, "Snapshot '99' not found"),
        (f"dataset:{_LAKE}:default/orders", "", 404, "Snapshot '' not found"),
        ("job:test:sink", "13", 400, "a snapshot is of a table"),
        ("default.orders", "13", 400, "nodeId"),
    ],
)
def test_what_is_not_a_snapshot_is_told_in_one_line(
    api: Api, node: str, snapshot: str, status: int, told: str
) -> None:
    _start(api)
    answer = api.client.get("/api/v1/why", params={"nodeId": node, "snapshot": snapshot})
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
    assert "\\n" not in answer.text


_MADE = [
    _commit(0, "11", 0, 10), _commit(1, "12", 10, 20), _commit(2, "13", 20, 30),
    _commit(3, "14", 30, 40),
]  # fmt: skip


def _restart(api: Api, told: int, *, repeats: bool) -> None:
    """Run "one" is killed after batch 2 and has told some; "two" repeats all, and makes batch 3.

    Another run between them failed at its start, and may have repeated them too. "early" reads the
    table before "two" has begun, and "late" at the end.
    """
    for at, run in ((0, "one"), (20, "failed"), (30, "two")):
        api.send(run_event("START", at, run=run, job="s", inputs=[_ORDERS], outputs=[_TABLE]))
    for number, commit in enumerate(_MADE[:told]):
        report = _report(commit)
        api.send(run_event("RUNNING", 1 + number, run="one", job="s", headwater_progress=report))
    api.send(
        run_event("ABORT", 9, run="one", job="s"), run_event("FAIL", 21, run="failed", job="s")
    )
    repeated = [{**one, "recovered": True} for one in _MADE[:3]]
    if repeats:
        report = {**_report(*repeated), "sources": []}
        api.send(run_event("RUNNING", 20.5, run="failed", job="s", headwater_progress=report))
    report = _report(*repeated, _MADE[3])
    api.send(run_event("RUNNING", 31, run="two", job="s", headwater_progress=report))
    for at, run, snapshot in ((15, "early", "21"), (40, "late", "22")):
        made = facet(rows=0, sources=[], snapshots=[snapshot])
        api.send(
            run_event("START", at, run=run, job=run, inputs=[_TABLE], outputs=[_TOTALS]),
            run_event("COMPLETE", at + 1, run=run, job=run, headwater_progress=made),
        )


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("told", [3, 2, 1])
def test_commits_that_a_run_repeats_are_those_of_the_run_before(
    api: Api, told: int, repeats: bool
) -> None:
    _restart(api, told, repeats=repeats)
    for batch in range(4):
        (write,) = _why(api, _TABLE, f"{11 + batch}")
        assert write["runId"] == run_id("one" if batch < 3 else "two"), batch
        assert (write["offsets"], write["exact"]) == (_range(10 * batch, 10 * batch + 10), True)
    of = {one["id"]: one["runId"] for one in _snapshots(api)}
    assert of == {f"{11 + batch}": run_id("one" if batch < 3 else "two") for batch in range(4)}
    assert _snapshots(api)[0]["id"] == "14"


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("told", [3, 2, 1])
def test_no_offset_is_missing_behind_a_table_whose_writer_was_killed(
    api: Api, told: int, repeats: bool
) -> None:
    _restart(api, told, repeats=repeats)
    for snapshot, expected in (
        ("21", {"one": _range(0, 30)}),
        ("22", {"one": _range(0, 30), "two": _range(30, 40), "failed": {}}),
    ):
        _, *writes = _why(api, _TOTALS, snapshot)
        found = {one["runId"]: one["offsets"] for one in writes}
        assert found == {run_id(name): offsets for name, offsets in expected.items()}
        assert not any(one["exact"] for one in writes)


def test_what_a_killed_run_committed_at_its_end_is_not_behind_what_was_read_before(
    api: Api,
) -> None:
    _restart(api, told=2, repeats=False)
    made = facet(rows=0, sources=[], snapshots=["23"])
    api.send(
        run_event("START", 1.2, run="first", job="first", inputs=[_TABLE], outputs=[_TOTALS]),
        run_event("COMPLETE", 1.5, run="first", job="first", headwater_progress=made),
    )
    _, write = _why(api, _TOTALS, "23")
    assert (write["runId"], write["offsets"]) == (run_id("one"), _range(0, 10))


def _snapshots(api: Api) -> list[dict[str, Any]]:
    path = "/namespaces/s3%3A%2F%2Flake/datasets/default%2Forders/snapshots"
    found: list[dict[str, Any]] = api.get(path)["snapshots"]
    return found


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("told", [3, 2, 1])
def test_runs_after_the_snapshot_that_was_read_are_not_behind_it(
    api: Api, told: int, repeats: bool
) -> None:
    _restart(api, told, repeats=repeats)
    _total(api, 50, "13", "24")
    _, write = _why(api, _TOTALS, "24")
    assert (write["runId"], write["offsets"]) == (run_id("one"), _range(0, 30))
    assert write["output"]["snapshot"] == "13"
