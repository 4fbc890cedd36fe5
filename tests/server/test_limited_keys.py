"""Keys with namespaces, given odd events, deleted things of others, and large answers."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.errors import EventTooLarge, UsageError
from headwater.http.keys import Key
from headwater.server.http.limited_answers import MOST_BYTES
from headwater.server.http.limited_events import restrict
from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    facet,
    lineage,
    minute,
    run_event,
    run_id,
    schema,
)
from server.test_namespaces import Team, open_team

N = "/api/v1/namespaces"
LAB = Key(1, "team", frozenset({"write"}), ("lab",))
ODD = {
    "too large": b"1e400",
    "400 digits": b"9" * 400,
    "1,000 digits": b"9" * 1000,
    "a long fraction": b"0." + b"1" * 5000,
    "600 arrays": b"[" * 600 + b"]" * 600,
    "600 objects": b'{"a":' * 600 + b"1" + b"}" * 600,
    "940 arrays": b"[" * 940 + b"]" * 940,
    "1,200 arrays": b"[" * 1200 + b"]" * 1200,
    "60,000 arrays": b"[" * 60_000 + b"]" * 60_000,
    "half of a surrogate pair": b'"\\ud800"',
    "an escaped backslash": b'"\\\\ud800"',
    "not UTF-8": b'"\xff"',
    "NUL": b'"\\u0000"',
    "NUL and 1,000 digits": b'["\\u0000",' + b"9" * 1000 + b"]",
    "a secret and 1,000 digits": b'{"password":"x","n":' + b"9" * 1000 + b"}",
    "duplicates": b'{"a":1,"a":2}',
    "not JSON": b"[1,]",
}


@pytest.fixture
def team(store_url: str) -> Iterator[Team]:
    """An operator, and a key for `lab`, with nothing reported."""
    with open_team(store_url, "lab") as team:
        yield team


def _of(namespace: str, event: Event) -> Event:
    event["job"]["namespace"] = namespace
    return event


def _odd(value: bytes, run: str, where: str) -> bytes:
    """An event of lab with a value as it is written, in a facet or where it means nothing."""
    told = facet(v="HERE")
    output = dataset("made", "lab", schema=schema("a"), odd=told if where == "output" else facet())
    facets: Any = {"odd": told} if where == "run" else {}
    event = _of("lab", run_event("COMPLETE", 1, run=run, job="odd", outputs=[output], **facets))
    if where == "event":
        event["odd"] = "HERE"
    return as_bytes(event).replace(b'"HERE"', value)


def _post(team: Team, who: str, body: bytes, path: str = "lineage") -> Any:
    headers = team._keys[who] | {"content-type": "application/json"}
    return team.client.post(f"/api/v1/{path}", content=body, headers=headers)


def test_odd_values_are_answered_as_they_are_to_other_keys(team: Team) -> None:
    lines = []
    for where in ("run", "output", "event"):
        for name, value in ODD.items():
            run = f"{where} {name}"
            whole = _post(team, "operator", _odd(value, f"{run} operator", where)).status_code
            limited = _post(team, "team", _odd(value, run, where)).status_code
            assert whole < 500, run
            assert limited in ({201, 400} if whole == 201 else {whole}), (run, whole)
            lines.append(_odd(value, f"{run} line", where))
    good = as_bytes(_of("lab", run_event("COMPLETE", 1, run="good", job="good")))
    told = _post(team, "team", b"\n".join([*lines, good]), "lineage/batch").json()
    statuses = [result["status"] for result in told["results"]]
    assert (len(statuses), statuses[-1]) == (len(lines) + 1, 201)
    assert {*statuses} <= {201, 400, 422}


def test_odd_values_are_read_by_a_limited_key(team: Team) -> None:
    stored = []
    for where in ("run", "output", "event"):
        for name, value in ODD.items():
            run = f"{where} {name}"
            if _post(team, "operator", _odd(value, run, where)).status_code == 201:
                stored.append(run)
    assert {"run too large", "run 1,000 digits", "run 600 arrays"} <= {*stored}
    for run in map(run_id, stored):
        for path in (f"jobs/runs/{run}", f"jobs/runs/{run}/facets?type=run",
                     f"events/lineage?runId={run}", f"runs/{run}/lineage"):  # fmt: skip
            whole = team.ask("operator", "GET", f"/api/v1/{path}").status_code
            assert team.ask("team", "GET", f"/api/v1/{path}").status_code == whole, path
    for path in (f"{N}/lab/jobs", f"{N}/lab/jobs/odd", f"{N}/lab/jobs/odd/runs",
                 f"{N}/lab/datasets", f"{N}/lab/datasets/made/versions",
                 "/api/v1/lineage?nodeId=job:lab:odd"):  # fmt: skip
        assert team.ask("team", "GET", path).status_code == 200, path
    event = team.ask("team", "GET", f"/api/v1/jobs/runs/{run_id('run 1,000 digits')}").text
    assert "9" * 1000 in event


def test_an_event_is_measured_before_it_is_decoded() -> None:
    event = as_bytes(_of("lab", run_event(run="r", job="j", x=facet(y="HERE"))))
    for filler, most in ((b"[],", 8 * 2**20), (b"{},", 8 * 2**20), (b"1,", 2**20)):
        large = event.replace(b'"HERE"', b"[" + filler * 600_000 + b"1]")
        with pytest.raises(EventTooLarge):
            restrict(large, LAB, bytes, str, most)


@pytest.mark.parametrize("prefixes", [[""], ["lab", ""], [" "], ["lab\nprod"]])
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_key_for_an_empty_prefix_is_refused(store_url: str, prefixes: list[str]) -> None:
    database = open_database(store_url)
    with pytest.raises(UsageError, match="prefix"):
        create_key(database, "all", ["read"], prefixes)
    database.close()


def test_namespaces_are_paged_after_they_are_filtered(team: Team) -> None:
    names = ["a", "b", "lab", "lab-%", "lab-2", "lab_3", "lac", "z"]
    for name in names:
        assert team.ask("operator", "PUT", f"{N}/{name.replace('%', '%25')}", {}).status_code == 200
    own = [name for name in names if name.startswith("lab")]
    for limit in (1, 2, 3, 100):
        seen: list[str] = []
        while True:
            path = f"{N}?limit={limit}&offset={len(seen)}"
            page = team.ask("team", "GET", path).json()["namespaces"]
            if not page:
                break
            assert len(page) <= limit
            seen += [space["name"] for space in page]
        assert sorted(seen) == sorted(own)


def _naming(run: str, at: str) -> Event:
    """An event of lab that names things of others in every way it can."""
    made = dataset("made", "lab", schema=schema("a"),
                   columnLineage=lineage(a=[comes_from("deep", "x", "gone"),
                                            comes_from("table", "x", "prod")]))  # fmt: skip
    event = _of("lab", run_event(
        "COMPLETE", run=run, job="names", inputs=[dataset("table", "prod"), dataset("t", "gone")],
        outputs=[made, dataset("table", "prod"), dataset("fresh", "gone")]))  # fmt: skip
    return event | {"eventTime": at}


def _delete_others(team: Team) -> None:
    for space, name in (("prod", "table"), ("prod", "kept"), ("gone", "t"), ("gone", "deep")):
        made = dataset(name, space, schema=schema("x"))
        event = _of(space, run_event(run=f"{space} {name}", job="makes", outputs=[made]))
        assert team.send("operator", event) == 201
    assert team.ask("operator", "DELETE", f"{N}/prod/datasets/table").status_code == 200
    assert team.ask("operator", "DELETE", f"{N}/gone").status_code == 200


def _visible(team: Team) -> tuple[set[str], set[str]]:
    spaces = team.ask("operator", "GET", N).json()["namespaces"]
    found = [team.ask("operator", "GET", f"{N}/{space}/datasets").json()["datasets"]
             for space in ("prod", "gone")]  # fmt: skip
    names = {f"{one['namespace']}:{one['name']}" for part in found for one in part}
    return {space["name"] for space in spaces} & {"prod", "gone"}, names


def test_a_limited_key_brings_nothing_deleted_of_others_back(team: Team) -> None:
    _delete_others(team)
    assert _visible(team) == ({"prod"}, {"prod:kept"})
    for number in range(3):  # also where the writer knows the names by now
        assert team.send("team", _naming(f"n{number}", minute(number))) == 201
        assert _visible(team) == ({"prod"}, {"prod:kept"})
    assert team.send("operator", _naming("operator", minute(9))) == 201
    spaces, names = _visible(team)
    assert (spaces, names >= {"prod:table", "gone:t"}) == ({"prod", "gone"}, True)


def test_offsets_of_others_are_not_told(team: Team) -> None:
    for space, snapshot in (("prod", "777"), ("lab", "778")):
        source = {"description": "SECRET", "startOffset": {f"{space}-topic": {"0": 1}},
                  "endOffset": {f"{space}-topic": {"0": 4}}}  # fmt: skip
        progress = facet(rows=5, snapshots=[snapshot], sources=[source])
        event = _of(space, run_event("RUNNING", run=space, job=space, headwater_progress=progress,
                                     outputs=[dataset("table", "lab")]))  # fmt: skip
        assert team.send("operator", event) == 201
    path = f"{N}/lab/datasets/table/snapshots/%s/offsets"
    assert team.ask("operator", "GET", path % 777).json()["offsets"].keys() == {"prod-topic"}
    told = team.ask("team", "GET", path % 777)
    assert "topic" not in told.text
    assert run_id("prod") not in told.text
    assert team.ask("team", "GET", path % 778).json()["offsets"].keys() == {"lab-topic"}
    listed = f"{N}/lab/datasets/table/snapshots"
    for who, runs in (
        ("operator", {run_id("prod"), run_id("lab")}),
        ("team", {None, run_id("lab")}),
    ):
        found = team.ask(who, "GET", listed).json()["snapshots"]
        assert {one["id"] for one in found} == {"777", "778"}
        assert {one["runId"] for one in found} == runs


def test_an_answer_that_is_too_large_is_refused(team: Team) -> None:
    text = "x" * 4_000_000
    for number in range(MOST_BYTES // len(text) + 2):
        facets: Any = {f"f{number}": facet(text=text)}
        event = _of("lab", run_event("RUNNING", number, run="large", job="large", **facets))
        assert team.send("operator", event) == 201
    path = f"/api/v1/events/lineage?runId={run_id('large')}"
    for asked in (f"{path}&limit=100", f"{path}&limit=500"):
        assert team.ask("operator", "GET", asked).status_code == 200
        told = team.ask("team", "GET", asked)
        assert told.status_code == 413, (asked, len(told.content))
        assert re.search("ask for less", told.json()["message"])
    assert len(team.ask("team", "GET", f"{path}&limit=1").json()["events"]) == 1
