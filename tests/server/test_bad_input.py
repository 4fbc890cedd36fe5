"""What cannot be accepted is refused with the field and the reason, and nothing is stored."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from server.api import Api
from server.conftest import open_api
from server.events import (
    Event,
    as_bytes,
    dataset,
    dataset_event,
    facet,
    job_event,
    run_event,
    run_id,
    schema,
)
from server.stores import KINDS, Stores

LIMIT = 2**20


@pytest.fixture(scope="module", params=KINDS)
def api(request: pytest.FixtureRequest, stores: Stores) -> Iterator[Api]:
    """One server for all of these: none of them leaves anything behind."""
    with open_api(stores.new(request.param), max_body=LIMIT) as found:
        yield found


def changed(event: Event, path: str, value: Any = None, *, drop: bool = False) -> Event:
    """An event with something else at a dotted path."""
    copy: Any = json.loads(as_bytes(event))
    *way, last = (int(key) if key.isdigit() else key for key in path.split("."))
    place = copy
    for key in way:
        place = place[key]
    if drop:
        del place[last]
    else:
        place[last] = value
    whole: Event = copy
    return whole


GOOD = run_event("START", 1, inputs=["a"], outputs=[dataset("b", schema=schema("x"))])

MISSING = ["eventTime", "job", "run.runId", "job.namespace", "job.name",
           "inputs.0.namespace", "outputs.0.name"]  # fmt: skip
WRONG: list[tuple[str, Any]] = [
    ("eventTime", 12), ("eventTime", None), ("eventTime", "yesterday"), ("eventTime", ""),
    ("eventTime", "2026-13-02T08:00:00Z"), ("eventTime", "2026-02-30T08:00:00Z"),
    ("eventTime", "2026-03-02T25:00:00Z"), ("eventTime", "2026-03-02T08:00:00+99:00"),
    ("eventTime", "0000-01-01T00:00:00Z"), ("eventTime", "9999-12-31T23:59:59-12:00"),
    ("eventTime", "٢٠٢٦-03-02T08:00:00Z"),
    ("eventType", "PAUSE"), ("eventType", ""), ("eventType", 1),
    ("run", []), ("run", "x"), ("run.runId", "not-a-uuid"), ("run.runId", ""), ("run.runId", 1),
    ("run.runId", "12345678-1234-1234-1234-1234567890123"), ("run.facets", []),
    ("run.facets", {"x": 1}), ("run.facets", {"x": [1]}),
    ("job", None), ("job", []), ("job.name", ""), ("job.name", "  "), ("job.name", 1),
    ("job.name", "x" * 2000), ("job.namespace", "é" * 2000), ("job.namespace", ""),
    ("job.facets", "none"), ("job.facets", {"documentation": "text"}),
    ("inputs", {}), ("inputs", "x"), ("inputs", [1]), ("inputs.0.name", ""),
    ("inputs.0.name", None), ("inputs.0.name", "x" * 2000), ("inputs.0.facets", [1]),
    ("inputs.0.facets", {"schema": 5}),
    ("outputs.0.facets.schema", {"fields": {}}), ("outputs.0.facets.schema", {"fields": [{}]}),
    ("outputs.0.facets.schema", {"fields": [{"name": ""}]}),
    ("outputs.0.facets.schema", {"fields": [{"name": "x" * 2000}]}),
    ("outputs.0.facets.schema", {"fields": [{"name": 1}]}),
    ("outputs.0.facets.columnLineage", {"fields": []}),
    ("outputs.0.facets.columnLineage", {"fields": {"x": {"inputFields": [{"name": "a"}]}}}),
    ("outputs.0.facets.columnLineage", {"fields": {"x": {"inputFields": 7}}}),
    ("outputs.0.facets.columnLineage", {"dataset": [{"namespace": "", "name": "a", "field": "b"}]}),
    ("outputs.0.facets.symlinks", {"identifiers": [{"namespace": "a"}]}),
    ("outputs.0.facets.symlinks", {"identifiers": [{"namespace": "a", "name": ""}]}),
    ("outputs.0.facets.lifecycleStateChange", {"previousIdentifier": {"name": "x"}}),
    ("run.facets.parent", {"run": {"runId": "x"}, "job": {"namespace": "a", "name": "b"}}),
    ("run.facets.parent", {"run": {"runId": run_id("p")}, "job": {"namespace": "a", "name": ""}}),
    ("run.facets.parent", {"run": {"runId": run_id("p")}}),
    ("run.facets.headwater_lease", {"seconds": "soon"}), ("run.facets.headwater_lease", {}),
]  # fmt: skip
DOTTED: list[tuple[str, Any]] = [  # places of names that would not be found by an address
    *((f"{place}.{what}", None)
      for place in ("job", "inputs.0", "outputs.0") for what in ("namespace", "name")),
    ("outputs.0.facets.symlinks", {"identifiers": [{"namespace": "@", "name": "a"}]}),
    ("outputs.0.facets.symlinks", {"identifiers": [{"namespace": "a", "name": "@"}]}),
    ("outputs.0.facets.lifecycleStateChange",
     {"lifecycleStateChange": "RENAME", "previousIdentifier": {"namespace": "a", "name": "@"}}),
    ("outputs.0.facets.columnLineage",
     {"dataset": [{"namespace": "a", "name": "@", "field": "b"}]}),
    ("outputs.0.facets.columnLineage",
     {"fields": {"x": {"inputFields": [{"namespace": "@", "name": "a", "field": "b"}]}}}),
    ("outputs.0.facets.lineage", {"inputs": [{"namespace": "a", "name": "@"}]}),
    ("run.facets.parent", {"run": {"runId": run_id("p")}, "job": {"namespace": "a", "name": "@"}}),
    ("run.facets.parent", {"run": {"runId": run_id("p")}, "job": {"namespace": "@", "name": "a"}}),
]  # fmt: skip
SPOILED = [
    *((path, changed(GOOD, path, drop=True)) for path in MISSING),
    *((path, changed(GOOD, path, value)) for path, value in WRONG),
    ("job.name", changed(job_event(), "job.name", "")),
    ("dataset.name", changed(dataset_event(0, dataset("x")), "dataset.name", "")),
    ("dataset.namespace", changed(dataset_event(0, dataset("x")), "dataset.namespace", 1)),
    ("run", {"eventTime": GOOD["eventTime"]}),
]


def refused(api: Api, body: bytes, **headers: str) -> Any:
    """Send what is refused: a 4xx in JSON, and nothing is stored."""
    before = stored(api)
    answer = api.post(body, **headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    assert stored(api) == before
    return answer


def stored(api: Api) -> Any:
    """How many events, jobs and namespaces there are."""
    spaces = api.get("/namespaces")["namespaces"]
    return api.event_count(), api.get("/jobs")["totalCount"], len(spaces)


@pytest.mark.parametrize(("path", "event"), SPOILED)
def test_the_field_at_fault_is_named(api: Api, path: str, event: Event) -> None:
    answer = refused(api, as_bytes(event))
    assert answer.status_code == 422
    told = answer.json()["errors"][0]
    first, last = path.split(".", maxsplit=1)[0], path.rsplit(".", maxsplit=1)[-1]
    assert first in told
    assert last in told or last.isdigit() or first == "inputs"
    assert ": " in told


@pytest.mark.parametrize("dots", [".", ".."])
@pytest.mark.parametrize(("path", "value"), DOTTED)
def test_a_name_of_dots_is_refused_wherever_it_is(
    api: Api, dots: str, path: str, value: Any
) -> None:
    given = json.loads(json.dumps(value or "@").replace("@", dots))
    answer = refused(api, as_bytes(changed(GOOD, path, given)))
    assert answer.status_code == 422
    assert f"is {dots!r}, which cannot be part of an address" in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"nonsense", b'{"eventTime": }', b"\xff\xfe", b'"text"', b"12", b"null", b"true",
        b'{"eventTime": "2026-03-02T08:00:00Z"} {"second": 1}', b"{'a': 1}", b"[1,", b"NaN",
        b'{"a": "\xff"}', as_bytes(GOOD)[:-1], as_bytes(GOOD) + b"}",
        b"\xef\xbb\xbf" + as_bytes(GOOD),
        as_bytes(GOOD).replace(b'"job"', b'"job\xc3\x28"'),
    ],
)  # fmt: skip
def test_what_is_no_json_object_is_refused(api: Api, body: bytes) -> None:
    answer = refused(api, body)
    assert answer.json()["errors"][0]


@pytest.mark.parametrize("path", ["job.name", "inputs.0.name", "outputs.0.namespace", "eventType"])
def test_nul_characters_are_refused(api: Api, path: str) -> None:
    answer = refused(api, as_bytes(changed(GOOD, path, "a\0b")))
    assert path.rpartition(".")[2] in answer.json()["errors"][0]


def test_nul_characters_are_refused_in_facets_and_their_names(api: Api) -> None:
    refused(api, as_bytes(changed(GOOD, "run.facets", {"x": facet(deep=[{"y": "a\0"}])})))
    refused(api, as_bytes(changed(GOOD, "run.facets", {"x\0": facet()})))


@pytest.mark.parametrize("path", ["job.name", "inputs.0.name", "outputs.0.facets.schema"])
def test_half_of_a_surrogate_pair_is_refused(api: Api, path: str) -> None:
    value: Any = {"fields": [{"name": "HALF"}]} if path.endswith("schema") else "HALF"
    for half in (b"\\ud83d", b"\\udc1f", b"\\udc1f\\ud83d"):
        refused(api, as_bytes(changed(GOOD, path, value)).replace(b"HALF", half))


@pytest.mark.parametrize("depth", [2_000, 60_000])
def test_deep_nesting_is_refused(api: Api, depth: int) -> None:
    for deep in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        body = as_bytes(changed(GOOD, "run.facets", {"x": {"y": "DEEP"}})).replace(b'"DEEP"', deep)
        assert "nested too deeply" in refused(api, body).json()["errors"][0]


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data", "", "x"])
def test_a_wrong_content_type_is_415(api: Api, kind: str) -> None:
    answer = refused(api, as_bytes(GOOD), content_type=kind)
    assert answer.status_code == 415
    assert "content type" in answer.json()["message"]


def test_a_wrong_encoding_is_415(api: Api) -> None:
    assert refused(api, as_bytes(GOOD), content_encoding="br").status_code == 415


def test_a_body_over_the_limit_is_413(api: Api) -> None:
    large = changed(GOOD, "run.facets", {"x": facet(text="x" * LIMIT)})
    assert refused(api, as_bytes(large)).status_code == 413


def test_a_gzip_bomb_is_413(api: Api) -> None:
    bomb = gzip.compress(b" " * (200 * LIMIT), compresslevel=9)
    assert len(bomb) < LIMIT
    answer = refused(api, bomb, content_encoding="gzip")
    assert answer.status_code == 413


@pytest.mark.parametrize("body", [b"not gzip", gzip.compress(as_bytes(GOOD))[:-9], b""])
def test_broken_gzip_is_refused(api: Api, body: bytes) -> None:
    answer = refused(api, body, content_encoding="gzip")
    assert "gzip" in answer.json()["message"]


HUGE = ["99999999999999999999999999", "2147483648", "9223372036854775808", "1e400"]
NODES = ["nonsense", "dataset", "dataset:", "dataset:x", "job:", "job::", "datasetField:a:b",
         "run:x", ":::", "dataset:a:b#", "column:a:b", "dataset::x", "dataset:x:"]  # fmt: skip


@pytest.mark.parametrize("number", [*HUGE, "-1", "many", "", "1.5", "NaN"])
@pytest.mark.parametrize(
    "path",
    ["/namespaces?limit=", "/namespaces?offset=", "/jobs?limit=", "/jobs?offset=",
     "/search?q=a&limit=", "/events/lineage?limit=", "/events/lineage?offset=",
     "/lineage?nodeId=job:a:b&depth=",
     "/column-lineage?nodeId=dataset:a:b&depth=", "/tags?limit=", "/sources?offset=",
     "/runlineage/upstream?runId=00000000-0000-0000-0000-000000000000&depth="],
)  # fmt: skip
def test_odd_numbers_never_break_the_server(api: Api, path: str, number: str) -> None:
    answer = api.client.get(f"/api/v1{path}{number}")
    assert answer.status_code < 500, answer.text
    json.loads(answer.content)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("path", ["/lineage", "/column-lineage"])
def test_odd_node_ids_are_4xx(api: Api, path: str, node: str) -> None:
    answer = api.client.get(f"/api/v1{path}", params={"nodeId": node})
    assert answer.status_code in (400, 404)
    assert "message" in answer.json()


def test_a_missing_node_id_is_400(api: Api) -> None:
    assert api.status("/lineage") == api.status("/column-lineage") == 400


@pytest.mark.parametrize(
    "path",
    ["/namespaces/a%00b", "/namespaces/a/jobs/b%00", "/search?q=%00", "/lineage?nodeId=job:a:%00",
     "/namespaces/%FF", "/namespaces/a/datasets/%C3%28", "/search?q=%FF", "/jobs/runs/%00",
     "/namespaces/%ED%A0%80/jobs", "/lineage?nodeId=dataset:a:%ED%A0%80", "/sources/%FF%FE",
     "/namespaces/a/jobs/b/versions/x", "/jobs/runs/x", "/stats/jobs?period=YEAR",
     "/stats/jobs?period=WEEK&timezone=Mars", "/stats/jobs?period=DAY&timezone=../../etc/passwd",
     "/events/lineage?before=never", "/events/lineage?sortDirection=up", "/nothing"],
)  # fmt: skip
def test_odd_addresses_are_4xx_in_json(api: Api, path: str) -> None:
    answer = api.client.get(f"/api/v1{path}")
    assert 400 <= answer.status_code < 500 or answer.json() is not None
    assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/namespaces/a", b"{"), ("/namespaces/a", b"[]"), ("/namespaces/a", b'{"ownerName": 1}'),
        ("/namespaces/a", b'{"ownerName": "\\u0000"}'),
        ("/namespaces/a", b'{"ownerName": "\\ud83d"}'),
        ("/sources/a", b"{}"), ("/sources/a", b'{"type": "\\u0000"}'), ("/sources/a", b"null"),
        ("/tags/a", b'{"description": "a\\u0000"}'), ("/tags/a", b'{"description": []}'),
        ("/namespaces/a/datasets/b", b'{"fields": [{"name": ""}]}'),
        ("/namespaces/a/datasets/b", b'{"fields": [{"type": "x"}]}'),
        ("/namespaces/a/datasets/b", b'{"fields": [1]}'),
        ("/namespaces/a/datasets/b", b'{"sourceName": "\\u0000"}'),
        ("/namespaces/a/jobs/b", b'{"inputs": [1]}'), ("/namespaces/a/jobs/b", b'{"inputs": [{}]}'),
        ("/namespaces/a/jobs/b", b'{"description": "\\ud83d"}'),
        ("/namespaces/" + "x" * 2000, b'{"ownerName": "me"}'),
        ("/namespaces/%20", b'{"ownerName": "me"}'),
    ],
)  # fmt: skip
def test_bad_declarations_are_refused(api: Api, path: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    before = stored(api)
    answer = api.client.put(f"/api/v1{path}", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    assert stored(api) == before


REAL = [
    changed(GOOD, "schemaURL", drop=True),
    changed(GOOD, "producer", drop=True),
    changed(GOOD, "run.facets", None),
    changed(GOOD, "job.facets", None),
    changed(GOOD, "outputs.0.facets", None),
    changed(GOOD, "inputs", None),
    changed(GOOD, "run.facets", {"spark_unknown": None, "mine": {"no": "producer"}}),
    changed(GOOD, "outputs.0.facets", {"schema": None, "columnLineage": None, "symlinks": None}),
    changed(GOOD, "outputs.0.facets.schema", {"fields": None}),
    changed(GOOD, "outputs.0.facets.schema", {"fields": [{"name": "x", "type": None}]}),
    changed(GOOD, "eventTime", "2026-03-02T08:00:00.123456789Z"),
    changed(GOOD, "eventTime", "2026-03-02T08:00:00"),
    changed(GOOD, "eventTime", "2026-03-02 08:00:00.5"),
    changed(GOOD, "eventTime", "2026-03-02T10:00:00+02:00"),
    changed(GOOD, "eventTime", "2026-03-02T10:00:00.000+0200"),
    changed(GOOD, "eventTime", "2026-03-02T10:00+02:00[Europe/Berlin]"),
    changed(GOOD, "eventTime", "1969-12-31T23:00:00Z"),
    changed(GOOD, "eventType", "start"),
    changed(GOOD, "run.runId", run_id("run").upper()),
    changed(GOOD, "run.runId", run_id("run").replace("-", "")),
]


@pytest.mark.parametrize("event", REAL)
def test_what_real_producers_send_is_accepted(store_url: str, event: Event) -> None:
    with open_api(store_url) as api:
        answer = api.post(as_bytes(event))
        assert answer.status_code == 201, answer.text
        assert api.run("run")["state"] == "RUNNING"
        assert as_bytes(event) in api.raw_events()
        assert api.outputs() == ["b"]


def test_times_without_zone_are_utc_and_nanoseconds_are_cut(store_url: str) -> None:
    with open_api(store_url) as api:
        api.send(changed(GOOD, "eventTime", "2026-03-02T08:00:00"))
        assert api.run("run")["createdAt"] == "2026-03-02T08:00:00Z"
        api.send(changed(GOOD, "eventTime", "2026-03-02T10:00:01.123456789+02:00"))
        assert api.run("run")["updatedAt"] == "2026-03-02T08:00:01.123456Z"
