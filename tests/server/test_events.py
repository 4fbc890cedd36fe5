"""Events in and out: as they came, each whole or not at all."""

import gzip
import zlib

import pytest

from server.api import Api
from server.conftest import open_api
from server.events import (
    as_bytes,
    dataset,
    dataset_event,
    facet,
    job_event,
    minute,
    run_event,
    run_id,
    schema,
)

ODD = (
    b'{ "eventType" : "START",\n  "eventTime": "2026-03-02T08:00:00.123456789+02:00", "unknown": '
    b'{"a": [1, 2.50, 1e3, null]}, "run": {"runId": "%s", "extra": true, "facets": {"mine_own": '
    b'{"z": 1, "a": "\\u00e9\\ud83d\\udc1f"}}}, "job": {"namespace": "jobs", "name": "job"},'
    b' "outputs": [{"namespace": "db", "name": "t", "facets": {"odd": '
    b'{"n": 12345678901234567890}}}],'
    b' "producer": "p", "schemaURL": "s" }' % run_id("run").encode()
)


def test_raw_events_come_back_byte_for_byte(api: Api) -> None:
    assert api.post(ODD).status_code == 201
    assert ODD in api.raw_events()
    assert api.raw_events() == b'{"totalCount":1,"events":[%s]}' % ODD


def test_similar_events_come_back_byte_for_byte(api: Api) -> None:
    sent = [
        as_bytes(
            run_event("START", at, run=f"r{at}", outputs=[dataset("t", note={"n": "x" * 500})])
        )
        for at in range(50)
    ]
    for body in sent:
        api.post(body)
    assert api.raw_events(sortDirection="asc") == (
        b'{"totalCount":50,"events":[%s]}' % b",".join(sent)
    )


def test_unknown_facets_are_served_with_their_run_and_dataset(api: Api) -> None:
    api.post(ODD)
    assert api.run("run")["facets"]["mine_own"] == {"z": 1, "a": "é🐟"}
    assert api.dataset("t")["facets"]["odd"] == {"n": 12345678901234567890}


def test_events_are_ordered_by_their_own_time(api: Api) -> None:
    api.send(*(run_event("RUNNING", at) for at in (3, 1, 2)))
    listed = api.get("/events/lineage")["events"]
    assert [e["eventTime"] for e in listed] == [minute(3), minute(2), minute(1)]
    upward = api.get("/events/lineage", sortDirection="asc", limit=1, offset=1)
    assert [e["eventTime"] for e in upward["events"]] == [minute(2)]
    window = api.get("/events/lineage", after=minute(2), before=minute(3))
    assert [e["eventTime"] for e in window["events"]] == [minute(2)]


def test_events_of_each_kind_can_be_asked_for(api: Api) -> None:
    api.send(run_event(), job_event(), dataset_event(0, dataset("t")))
    kinds = ("run", "job", "dataset", "all")
    assert [len(api.get("/events/lineage", kind=kind)["events"]) for kind in kinds] == [1, 1, 1, 3]
    mine = api.get("/events/lineage", runId=run_id("run"))["events"]
    assert [e["run"]["runId"] for e in mine] == [run_id("run")]


def test_an_array_is_answered_with_a_result_for_each(api: Api) -> None:
    bad = run_event("START", 2)
    del bad["eventTime"]
    answer = api.post(as_bytes([run_event("START", 1), bad, run_event("COMPLETE", 3)]))
    assert answer.status_code == 207
    told = answer.json()
    assert (told["received"], told["stored"]) == (3, 2)
    assert [r["status"] for r in told["results"]] == [201, 422, 201]
    assert "eventTime" in told["results"][1]["errors"][0]
    assert api.event_count() == 2
    assert api.run("run")["state"] == "COMPLETED"


def test_an_array_in_order_is_accepted_and_one_without_any_event_in_order_refused(api: Api) -> None:
    assert api.post(as_bytes([run_event()])).status_code == 201
    assert api.post(b'[1, "x", null, {}]').status_code == 422
    assert api.event_count() == 1


def test_a_batch_of_lines_is_answered_with_a_result_for_each(api: Api) -> None:
    lines = [as_bytes(run_event("START", 1)), b"", b"{broken", as_bytes(run_event("COMPLETE", 2))]
    answer = api.post(
        b"\n".join(lines) + b"\r\n", "/api/v1/lineage/batch", content_type="application/x-ndjson"
    )
    assert answer.status_code == 207
    assert [r["status"] for r in answer.json()["results"]] == [201, 400, 201]
    assert api.run("run")["state"] == "COMPLETED"


def test_compressed_events_are_taken(api: Api) -> None:
    body = as_bytes(run_event("START", 1))
    assert api.post(gzip.compress(body), content_encoding="gzip").status_code == 201
    lines = gzip.compress(
        as_bytes(run_event("RUNNING", 2)) + b"\n" + as_bytes(run_event("FAIL", 3))
    )
    assert api.post(lines, "/api/v1/lineage/batch", content_encoding="gzip").status_code == 201
    other = as_bytes(run_event("RUNNING", 4))
    assert api.post(zlib.compress(other), content_encoding="deflate").status_code == 201
    assert api.event_count() == 4
    assert body in api.raw_events()


def test_every_member_of_a_compressed_body_is_read(api: Api) -> None:
    lines = [as_bytes(run_event(kind, at)) + b"\n" for kind, at in (("START", 1), ("FAIL", 2))]
    members = b"".join(map(gzip.compress, lines))
    answer = api.post(members, "/api/v1/lineage/batch", content_encoding="gzip")
    assert (answer.status_code, answer.json()["stored"]) == (201, 2)
    halves = as_bytes(run_event("START", 3, run="other"))
    body = gzip.compress(halves[:50]) + gzip.compress(halves[50:])
    assert api.post(body, content_encoding="gzip").status_code == 201
    assert halves in api.raw_events()


def test_a_run_event_without_a_type_adds_to_its_run(api: Api) -> None:
    untyped = run_event("START", 2, outputs=["t"], errorMessage=facet(message="x"))
    del untyped["eventType"]
    api.send(run_event("START", 1), untyped)
    run = api.run("run")
    assert (run["state"], run["updatedAt"], [*run["facets"]]) == (
        "RUNNING", minute(2), ["errorMessage"])  # fmt: skip
    assert api.outputs() == ["t"]


@pytest.mark.parametrize("deleted", [None, False, "no"])
def test_a_facet_is_deleted_by_true_alone(api: Api, deleted: object) -> None:
    told = dataset("t", schema=schema("x") | {"_deleted": deleted})
    api.send(run_event("START", 1, outputs=[told], errorMessage=facet(_deleted=deleted)))
    assert [*api.run("run")["facets"]] == ["errorMessage"]
    assert [field["name"] for field in api.dataset("t")["fields"]] == ["x"]


def test_an_empty_batch_stores_nothing(api: Api) -> None:
    assert api.post(b"[]").json() == {"received": 0, "stored": 0, "results": []}
    assert api.event_count() == 0


def test_one_event_is_answered_with_an_empty_body(api: Api) -> None:
    answer = api.post(as_bytes(run_event()))
    assert (answer.status_code, answer.content) == (201, b"")


def test_what_was_stored_is_there_after_a_restart(store_url: str) -> None:
    with open_api(store_url) as api:
        api.send(run_event("START", 1, inputs=["a"], outputs=["b"]))
        before = api.lineage("job:jobs:job")
    with open_api(store_url) as api:
        assert api.lineage("job:jobs:job") == before
        api.send(run_event("COMPLETE", 2))
        assert api.run("run")["state"] == "COMPLETED"


def test_a_text_is_found_in_all_events_a_stretch_at_a_time(api: Api) -> None:
    api.send(*(
        run_event("FAIL" if at % 100 == 0 else "RUNNING", at, run=f"r{at}",
                  note={"n": 'says "Où"' if at % 100 == 0 else "nothing"})
        for at in range(600)
    ))  # fmt: skip
    first = api.get("/events/search", q='SAYS "Où"', limit=4)
    assert [event["run"]["runId"] for event in first["events"]] == [
        run_id(f"r{at}") for at in (500, 400, 300, 200)
    ]
    second = api.get("/events/search", q="says", limit=4, **{"from": first["next"]})
    assert [event["run"]["runId"] for event in second["events"]] == [run_id("r100"), run_id("r0")]
    assert (second["next"], first["looked"] + second["looked"]) == (None, 600)
    assert len(api.get("/events/search", type="FAIL", limit=10)["events"]) == 6
    assert api.get("/events/search", q="nowhere")["events"] == []
    for bad in ("from=there", "kind=odd"):
        assert api.client.get(f"/api/v1/events/search?{bad}").status_code == 400


def test_the_count_of_events_is_that_of_the_kind_asked_for(api: Api) -> None:
    api.send(run_event(), job_event(1), job_event(2), dataset_event(3, dataset("t")))
    counts = {
        kind: api.get("/events/lineage", kind=kind, limit=0)["totalCount"]
        for kind in ("run", "job", "dataset", "all")
    }
    assert counts == {"run": 1, "job": 2, "dataset": 1, "all": 4}
    assert api.get("/events/lineage", before=minute(2), kind="all", limit=0)["totalCount"] == 2
