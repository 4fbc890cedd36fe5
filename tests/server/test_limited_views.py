"""What a key with namespaces is told of others: names next to its own things, and nothing else."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from server.events import (
    Event,
    comes_from,
    dataset,
    dataset_event,
    facet,
    lineage,
    minute,
    parent,
    run_event,
    run_id,
    schema,
    symlinks,
)
from server.test_access import NEEDS
from server.test_namespaces import Team, open_team

N = "/api/v1/namespaces"
LONG_AGO = "2016-01-01T08:%02d:00Z"  # when prod did what does not touch lab
# A name of prod that has `far` in it is next to nothing of lab; runs of prod are never told.
THEIRS = ("near-writer", "near-reader", "near-flow", "far-child", "far-job", "far-maker")


def _of(namespace: str, event: Event, at: str | None = None) -> Event:
    event["job"]["namespace"] = namespace
    return event if at is None else event | {"eventTime": at}


def _topic(name: str, snapshot: str, end: int) -> dict[str, Any]:
    source = {"description": name, "startOffset": {name: {"0": 0}}, "endOffset": {name: {"0": end}}}
    return facet(rows=end, snapshots=[snapshot], sources=[source])


LAB = [
    _of("lab", run_event("START", 1, run="lab-flow", job="lab-flow")),
    _of("lab", run_event("COMPLETE", 6, run="lab-flow", job="lab-flow")),
    _of("lab", run_event(
        "COMPLETE", 4, run="lab-run", job="lab-job",
        inputs=[dataset("near-table", "prod"), dataset("ours", "lab"), dataset("topic", "lab")],
        outputs=[dataset("made", "lab", schema=schema("a", "b"), columnLineage=lineage(
            a=[comes_from("near-table", "id", "prod")], b=[comes_from("ours", "id", "lab")]))],
        parent=parent("lab-flow", "lab-flow", "lab"),
        headwater_progress=_topic("topic", "71", 10),
    )),
    _of("lab", run_event(
        "COMPLETE", 5, run="lab-child", job="lab-child", inputs=[dataset("made", "lab")],
        outputs=[dataset("near-export", "prod")], parent=parent("near-flow", "near-flow", "prod"),
        note=facet(namespace="kept", text="KEPT"),
    )),
    _of("lab", run_event("COMPLETE", 7, run="lab-last", job="lab-last",
        inputs=[dataset("near-export", "prod")],
        outputs=[dataset("last_orders_of_all", "lab", schema=schema("last_column_of_all"))])),
    # The name that is shown to others is prod's.
    _of("lab", run_event("COMPLETE", 8, run="lab-link", job="lab-link", outputs=[
        dataset("linked", "lab", schema=schema("x"), note=facet(namespace="kept", text="KEPT"))])),
    dataset_event(8, dataset("near-linked", "prod", symlinks=symlinks(("lab", "linked")))),
]  # fmt: skip
TOUCHING = [
    _of("prod", run_event("COMPLETE", 2, run="near-writer", job="near-writer",
        inputs=[dataset("far-source", "prod")],
        outputs=[dataset("ours", "lab", schema=schema("id"), columnLineage=lineage(
            id=[comes_from("far-source", "far-column", "prod")]))],
        headwater_progress=_topic("far-topic", "72", 10))),
    _of("prod", run_event("START", 2, run="near-reader", job="near-reader",
        inputs=[dataset("made", "lab")], outputs=[dataset("far-1", "prod")])),
]  # fmt: skip


def _private(number: int) -> Iterator[Event]:
    """What prod does on its own; each number more of it."""
    at = LONG_AGO % number
    run = f"{number}"
    yield _of("prod", run_event("COMPLETE", run="far-maker" + run, job="far-maker", outputs=[
        dataset("near-table", "prod", schema=schema(f"far-{number}", *["id"] * (number % 2))),
        dataset("far-source", "prod", schema=schema("far-column")),
        dataset("near-export", "prod", schema=schema("far-x")),
    ]), at)  # fmt: skip
    yield _of("prod", run_event("COMPLETE", run="far-job" + run, job="far-job", inputs=[
        dataset("far-1", "prod"), dataset("near-table", "prod")], outputs=[
        dataset(f"far-{number + 1}", "prod", schema=schema("far-id"), columnLineage=lineage(
            **{"far-id": [comes_from("near-table", "id", "prod")]}))],
        headwater_progress=_topic("topic", f"7{number}", 20)), at)  # fmt: skip
    yield _of("prod", run_event("COMPLETE", run="near-flow" + run, job="near-flow"), at)
    yield _of("prod", run_event("START", run="near-flow", job="near-flow",
                                processing=facet(far=number)), at)  # fmt: skip
    yield _of("prod", run_event("COMPLETE", 3, run="far-child" + run, job=f"far-child{number}",
                                parent=parent("lab-flow", "lab-flow", "lab")))  # fmt: skip
    named = [f"last{number}_{i}" for i in range(250)]  # more than are looked through, and shorter
    fields = schema(*(f"last_c{number}_{i}" for i in range(250)))
    yield _of("prod", run_event("COMPLETE", run="far-names" + run, job=f"lab-las{number}",
        outputs=[dataset("last_fields", "prod", schema=fields),
                 *(dataset(name, "prod") for name in named)]), at)  # fmt: skip
    alias = dataset(f"near-alias{number}", "prod", symlinks=symlinks(("prod", "near-table")))
    yield dataset_event(0, alias) | {"eventTime": at}


@pytest.fixture
def team(store_url: str) -> Iterator[Team]:
    with open_team(store_url, "lab") as team:
        _report(team, [*_private(0), *TOUCHING, *LAB])
        yield team


def _report(team: Team, events: list[Event]) -> None:
    for event in events:
        assert team.send("operator", event) == 201


NODES = [f"dataset:lab:{name}" for name in ("made", "ours", "topic", "linked")]
NODES += ["job:lab:lab-job", "job:lab:lab-flow", "job:lab:lab-child", "datasetField:lab:made:a",
          "datasetField:lab:ours:id"]  # fmt: skip
MORE = {
    "/api/v1/lineage": ("&depth=1", "&detail=true", "&aggregateByParentRun=true",
                        "&mode=cumulative", f"&asOf={minute(30)}"),
    "/api/v1/column-lineage": ("&withDownstream=true&detail=true", f"&asOf={minute(30)}"),
    "/api/v1/impact": ("&format=csv", "&depth=1", f"&asOf={minute(30)}"),
    "/api/v1/origin": ("&format=csv", "&depth=1", f"&asOf={minute(30)}"),
    "/api/v1/search": ("&types=job,dataset,column,run", "&filter=FIELD", "&filter=DATASET"),
    "/api/v1/jobs/runs/{run_id}/facets": ("&type=job",),
}  # fmt: skip
TEXTS = ("last", "last_orders_of_all", "last_column_of_al", "lab-las", "lab-lsat", "linked", "near",
         "far", "topic")  # fmt: skip


def _questions(version: str) -> Iterator[str]:
    """Every route that reads, about things of lab."""
    for route in NEEDS:
        method, path = route.split(" ")
        if method != "GET" or re.search("stream|/docs|audit|ready|health|metrics", path):
            continue
        for given in _values(path, version):
            filled = path.format(**{name: quote(value, "") for name, value in given.items()})
            asked = [f"{name}={quote(value)}" for name, value in given.items()
                     if f"{{{name}}}" not in path and name != "run_id"]  # fmt: skip
            for more in ("", *MORE.get(path, ())):
                yield f"{filled}?{'&'.join(asked)}{more}"


def _values(path: str, version: str) -> Iterator[dict[str, str]]:
    """What to ask a route about."""
    space = {"namespace": "lab"}
    if path.endswith("/namespaces/{name}"):
        yield {"name": "lab"}
    elif "/datasets/{name}" in path:
        for name in ("made", "ours", "linked", "last_orders_of_all"):
            for id_ in ("71", "72", "70"):
                yield {**space, "name": name, "snapshot": id_, "version": version}
    elif "/jobs/{name}" in path:
        for name in ("lab-flow", "lab-job", "lab-child"):
            yield {**space, "name": name, "version": version}
    elif "{run_id}" in path or path.endswith("/events/lineage"):
        for name in ("lab-run", "lab-flow", "lab-child"):
            yield {"run_id": run_id(name), "runId": run_id(name), "type": "run"}
    elif path.endswith(("/search", "/resolve", "/datasets", "/jobs")):
        for text in TEXTS:
            yield {**space, "q": text, "name": text}
    elif "{" not in path:
        for node in NODES:
            yield {"nodeId": node, "partition": "0", "firstOffset": "0", "lastOffset": "5",
                   "snapshot": "71"}  # fmt: skip


def _answers(team: Team) -> dict[str, httpx.Response]:
    versions = team.ask("operator", "GET", f"{N}/prod/datasets/near-table/versions").json()
    version = versions["versions"][-1]["version"]
    found = {path: team.ask("team", "GET", path) for path in dict.fromkeys(_questions(version))}
    assert all(answer.status_code < 500 for answer in found.values())
    return found


def _leaks(path: str, text: str) -> list[str]:
    """What an answer tells of prod beyond the names that are next to things of lab."""
    shown = text.replace(quote("far"), "") if "far" not in path else ""
    own_words = r"far-source|far-column|far-topic"  # what a run of prod told of a dataset of lab
    found = re.findall(rf"far(?!-)|(?!{own_words})far-\w+|2016-\d\d-\d\d[^\"]*", shown)
    ids = [f"{name}{n}" for name in THEIRS for n in ("", "0", "1", "2", "3")]
    told = re.findall("[0-9a-f]{8}-[0-9a-f-]{27}", shown)
    runs = {run_id(name): name for name in ids if name != "near-flow"}  # lab's own run tells that
    return found + [runs[one] for one in told if one in runs]


def test_nothing_of_others_is_told_but_names_of_neighbours(team: Team) -> None:
    answers = _answers(team)
    leaks = {p: found for p, a in answers.items() if (found := _leaks(p, a.text))}
    assert not leaks, "\n".join(f"{path}: {sorted({*found})[:5]}" for path, found in leaks.items())
    good = [path for path, answer in answers.items() if answer.status_code == 200]
    assert len(good) > 100, len(good)


def test_no_answer_changes_when_others_do_more(team: Team) -> None:
    before = _answers(team)
    _report(team, [event for number in (1, 2, 3) for event in _private(number)])
    after = _answers(team)
    assert after.keys() == before.keys()
    changed = [_difference(path, before[path].text, after[path].text) for path in before]
    assert not [*filter(None, changed)], "\n".join(filter(None, changed))


def _difference(path: str, before: str, after: str) -> str:
    if before == after:
        return ""
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    start = max(0, same - 80)
    return f"{path}\n  {before[start:][:240]}\n  {after[start:][:240]}"


def test_a_dataset_is_read_by_the_name_that_is_of_the_key(team: Team) -> None:
    """Whichever of its names others see it by."""
    path = f"{N}/lab/datasets/linked"
    assert team.ask("operator", "GET", path).json()["namespace"] == "prod"
    linked = team.ask("team", "GET", path).json()
    assert linked["id"] == {"namespace": "lab", "name": "linked"}
    assert [field["name"] for field in linked["fields"]] == ["x"]
    listed = team.ask("team", "GET", f"{N}/lab/datasets").json()
    assert "linked" in [one["name"] for one in listed["datasets"]]
    assert listed["totalCount"] == len(listed["datasets"])
    assert "linked" not in [d["name"] for d in team.ask("operator", "GET", f"{N}/lab/datasets")
                            .json()["datasets"]]  # fmt: skip
    for asked in ("datasets?namespace=lab&q=linked", "search?namespace=lab&q=linked",
                  "search?namespace=lab&q=linked&types=dataset"):  # fmt: skip
        told = team.ask("team", "GET", f"/api/v1/{asked}").json()
        [one] = told.get("datasets") or told["results"]
        assert (one["namespace"], one["name"]) == ("lab", "linked")
    job = team.ask("team", "GET", f"{N}/lab/jobs/lab-link").json()
    assert job["outputs"] == [{"namespace": "lab", "name": "linked"}]
    graph = team.ask("team", "GET", "/api/v1/lineage?nodeId=dataset:lab:linked").json()["graph"]
    assert {node["id"] for node in graph} == {"dataset:lab:linked", "job:lab:lab-link"}
    own = next(node["data"] for node in graph if node["type"] == "DATASET")
    assert [field["name"] for field in own["fields"]] == ["x"]
    versions = team.ask("team", "GET", f"{path}/versions").json()["versions"]
    assert versions[0]["createdByRun"]["id"] == run_id("lab-link")


def test_facets_are_shown_as_they_were_reported(team: Team) -> None:
    """Whatever their members are called."""
    run = run_id("lab-child")
    for path in (f"/api/v1/jobs/runs/{run}", f"/api/v1/jobs/runs/{run}/facets?type=run",
                 f"/api/v1/events/lineage?runId={run}", f"{N}/lab/datasets/linked",
                 f"{N}/lab/datasets/linked/versions"):  # fmt: skip
        told = team.ask("team", "GET", path)
        assert '"namespace":"kept","text":"KEPT"' in told.text, path


def test_names_are_looked_for_among_those_of_the_key(team: Team) -> None:
    """However many others hold the text, are shorter, and were there before."""
    _report(team, [*_private(1)])
    for name, wanted in (
        ("last", "dataset:lab:last_orders_of_all"),
        ("last_c", "datasetField:lab:last_orders_of_all:last_column_of_all"),
        ("last_ordres_of_al", "dataset:lab:last_orders_of_all"),
    ):
        assert wanted in team.ask("team", "GET", f"/api/v1/resolve?name={name}").text
        asked = f"/api/v1/search?q={name}&namespace=lab&types=job,dataset,column"
        assert wanted in team.ask("team", "GET", asked).text


def test_a_stream_about_others_is_as_one_about_nothing(team: Team) -> None:
    told = {
        team.ask("team", "GET", f"/api/v1/stream?nodeId={quote(node)}").status_code
        for node in ("dataset:prod:near-table", "dataset:prod:nothing", "job:prod:far-job")
    }
    assert told == {404}
