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


def test_a_batch_write_leads_to_the_snapshot_it_read_and_the_offsets_behind(api: Api) -> None:
    _start(api)
    read = {**_TABLE, "facets": {"version": facet(datasetVersion="13")}}
    done = facet(rows=1, sources=[], snapshots=["91"])
    api.send(run_event("COMPLETE", 5, run="daily", job="daily", inputs=[read], outputs=[_TOTALS],
                       headwater_progress=done))  # fmt: skip
    daily, sink = _why(api, _TOTALS, "91")
    assert (daily["name"], daily["exact"], daily["offsets"]) == ("daily", True, {})
    assert [(one["name"], one["snapshot"]) for one in daily["inputs"]] == [("default/orders", "13")]
    assert (sink["name"], sink["exact"], sink["offsets"]) == ("sink", False, _range(0, 30))
    assert sink["output"]["snapshot"] == "13"
    assert sink["at"] == minute(5)


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
