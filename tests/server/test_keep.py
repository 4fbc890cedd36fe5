"""Old events and runs go; the graph stays, that of now and that of then."""

import random
from typing import Any

import pytest

from headwater.errors import UsageError
from headwater.openlineage.times import parse_moment
from headwater.server.settings import DEFAULT_ALIASES, parse_span
from headwater.server.store.aliases import AliasRules
from headwater.server.store.log import read_bodies
from headwater.server.store.prune import prune
from headwater.server.store.store import Store
from server.conftest import OpenApi
from server.events import (
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

_LONG = "some words that are said each time and make the event long enough to be compressed. " * 9


def _history() -> list[dict[str, Any]]:
    """Twenty runs of two jobs; the first job reads another table from its tenth run on."""
    told = []
    for number in range(20):
        source = "a" if number < 10 else "b"
        columns = lineage(x=[comes_from(source, "k")])
        words = facet(description=_LONG)
        told += [
            run_event("START", 2 * number, run=f"l{number}", job="load",
                      inputs=[dataset(source, schema=schema("k"))], documentation=words,
                      outputs=[dataset("t", schema=schema("x", "y"), columnLineage=columns)]),
            run_event("COMPLETE", 2 * number + 1, run=f"l{number}", job="load",
                      documentation=words),
        ]  # fmt: skip
    rare = {"documentation": facet(description="once a year")}
    event = run_event(
        "COMPLETE", 3, run="once", job="rare", inputs=["t"], outputs=["r"], job_facets=rare
    )
    told.append(event)
    return told


def _graphs(api: Any) -> list[Any]:
    nodes = ("job:jobs:load", "job:jobs:rare", "dataset:db:t", "dataset:db:r")
    return [
        [api.lineage(node) for node in nodes],
        [api.lineage(node, asOf=minute(at))["dataset:db:t"]["inEdges"]
         for at in (5, 15, 25, 35) for node in nodes[2:3]],
        api.columns("dataset:db:t", detail="true"),
        [*api.lineage("dataset:db:t", asOf=minute(5))],
        [api.job("load")["latestRun"], api.job("rare")["facets"], api.job("rare")["latestRun"]],
        [api.dataset("t")["currentVersion"], api.dataset("t")["facets"], api.dataset("r")],
    ]  # fmt: skip


def test_what_is_old_goes_and_the_graph_stays(store_url: str, open_api: OpenApi) -> None:
    with open_api(store_url) as api:
        api.send(*_history())
        before, count = _graphs(api), api.event_count()
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    found = prune(store, parse_moment(minute(30)))
    again = prune(store, parse_moment(minute(30)))
    store.close()
    # Fifteen ended before. Two of them first read a table that nobody writes; one more wrote
    # what the last run of the other job read.
    assert (found.runs, again) == (12, (0, 0))
    assert found.events > 20
    with open_api(store_url) as api:
        assert _graphs(api) == before
        assert api.event_count() == count - found.events
        runs = api.get("/namespaces/jobs/jobs/load/runs")["runs"]
        assert len(runs) == 8
        assert len(api.get("/events/lineage", kind="all", limit=1000)["events"]) == (
            count - found.events
        )
        api.send(run_event("COMPLETE", 50, run="new", job="load", inputs=["c"], outputs=["t"]))
        assert api.inputs("load") == ["c"]
        api.send(run_event("COMPLETE", 2, run="late", job="load", inputs=["z"], outputs=["t"]))
        assert api.inputs("load") == ["c"]
        assert "pruned" in {told["action"] for told in api.get("/audit")["audit"]}


def test_events_go_on_after_a_prune_in_the_same_server(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    events = [store.read(as_bytes(event)) for event in _history()]
    store.ingest(events).result()
    assert prune(store, parse_moment(minute(100))).runs > 0
    assert store.ingest(events[-3:]).result() <= 3
    more = [run_event("START", 60 + n, run=f"m{n}", job="load", inputs=["a"]) for n in range(5)]
    assert store.ingest([store.read(as_bytes(event)) for event in more]).result() == 5
    store.close()


def test_a_span_is_read_as_people_write_it() -> None:
    assert [parse_span(text) for text in ("90d", "12h", "1.5m", "2w", "0")] == [
        7_776_000, 43_200, 90, 1_209_600, 0]  # fmt: skip
    with pytest.raises(UsageError):
        parse_span("soon")


def _small(number: int) -> list[dict[str, Any]]:
    """Events too small to be compressed against others: of a run, and of a job."""
    job = {"namespace": "n", "name": "small"}
    run = {"runId": run_id(f"s{number}")}
    return [
        {"eventType": "START", "eventTime": minute(number % 50), "run": run, "job": job},
        {"eventType": "COMPLETE", "eventTime": minute(number % 50 + 1), "run": run, "job": job},
        {"eventTime": minute(number / 6), "job": {"namespace": "n", "name": "declared"},
         "inputs": [{"namespace": "n", "name": "d"}]},
    ]  # fmt: skip


def test_small_events_go_too(store_url: str) -> None:
    """Each is stored alone, and no event that stays needs it."""
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        events = [event for number in range(250) for event in _small(number)]
        store.ingest([store.read(as_bytes(event)) for event in events]).result()
        with store.database.reading() as session:
            ((alone,),) = session.all("SELECT count(*) FROM event WHERE base IS NULL")
        assert alone > 700
        prune(store, parse_moment(minute(100)))
        with store.database.reading() as session:
            ((stayed,),) = session.all("SELECT count(*) FROM event")
            ((runs,),) = session.all("SELECT count(*) FROM run")
        assert stayed <= 3
        assert runs <= 4
    finally:
        store.close()


def test_no_server_compresses_against_what_another_deleted(store_url: str) -> None:
    """Two writers on one store, each with bases at hand, while either prunes."""
    one, two = (Store(store_url, AliasRules(DEFAULT_ALIASES)) for _ in range(2))
    chance = random.Random(5)
    try:
        for number in range(60):
            store = chance.choice([one, two])
            words = facet(description=_LONG)
            event = run_event("RUNNING", number, run=f"r{number % 3}", documentation=words)
            store.ingest([store.read(as_bytes(event))]).result()
            if number % 7 == 6:
                prune(chance.choice([one, two]), parse_moment(minute(number - 3)))
            with one.database.reading() as session:
                seqs = [seq for (seq,) in session.all("SELECT seq FROM event")]
                assert len(read_bodies(session, seqs)) == len(seqs)
    finally:
        one.close()
        two.close()
