"""Runs of one job under one parent run add up; the next parent run replaces them."""

from typing import Any

from headwater.openlineage.times import parse_moment
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.prune import prune
from headwater.server.store.store import Store
from server.api import Api
from server.conftest import OpenApi
from server.events import Event, comes_from, dataset, facet, lineage, minute, parent, run_event
from server.tables import FOREVER, rows, when

STREAMING = {"jobType": facet(processingType="STREAMING", integration="SPARK")}


def _write(
    at: float, source: str, *, under: str | None = None, run: str | None = None, **more: Any
) -> Event:
    """An application inserts a table into `t`."""
    target = dataset("t", columnLineage=lineage(x=[comes_from(source, "x")]))
    facets = {} if under is None else {"parent": parent(under, "app")}
    return run_event(
        "COMPLETE", at, run=run or f"{under} {source} {at}", job="app.insert.t",
        inputs=[source], outputs=[target], **facets, **more,
    )  # fmt: skip


def _sources(api: Api, **asked: str) -> list[str]:
    """The datasets that feed `t.x`, by the column graph."""
    found = api.columns("datasetField:db:t:x", **asked)
    return sorted(node.split(":")[2] for node in found if ":t:" not in node)


def test_two_writes_of_one_application_add_up(api: Api) -> None:
    api.send(_write(1, "a", under="monday"), _write(2, "b", under="monday"))
    assert api.inputs("app.insert.t") == ["a", "b"]
    assert _sources(api) == ["a", "b"]
    (column,) = api.dataset("t")["columnLineage"]
    assert [given["dataset"] for given in column["inputFields"]] == ["a", "b"]
    assert rows(api.store_url, "edge") == {
        ("app.insert.t", 0, "db:a", when(1), FOREVER),
        ("app.insert.t", 0, "db:b", when(2), FOREVER),
        ("app.insert.t", 1, "db:t", when(1), FOREVER),
    }


def test_the_next_run_of_the_application_replaces_what_the_last_wrote(api: Api) -> None:
    api.send(_write(1, "a", under="monday"), _write(2, "b", under="monday"))
    api.send(_write(5, "b", under="tuesday"))
    assert api.inputs("app.insert.t") == ["b"]
    assert _sources(api) == ["b"]
    assert _sources(api, asOf=minute(1)) == ["a"]
    assert _sources(api, asOf=minute(4)) == ["a", "b"]
    assert _sources(api, asOf=minute(5)) == ["b"]
    assert rows(api.store_url, "edge") >= {
        ("app.insert.t", 0, "db:a", when(1), when(5)),
        ("app.insert.t", 0, "db:b", when(2), FOREVER),
    }


def test_the_order_of_the_writes_does_not_matter_from_day_to_day(api: Api) -> None:
    api.send(_write(1, "a", under="monday"), _write(2, "b", under="monday"))
    api.send(_write(5, "b", under="tuesday"), _write(6, "a", under="tuesday"))
    assert api.inputs("app.insert.t") == ["a", "b"]
    assert _sources(api) == ["a", "b"]
    versions = api.get("/jobs")["jobs"]
    assert [job["name"] for job in versions if "insert" in job["name"]] == ["app.insert.t"]


def test_a_write_that_reads_nothing_ends_nothing_of_its_application(api: Api) -> None:
    """As MERGE and then DELETE do with one Iceberg table."""
    api.send(_write(1, "a", under="monday"))
    api.send(
        run_event("COMPLETE", 2, run="delete", job="app.insert.t", outputs=["t"],
                  parent=parent("monday", "app"))
    )  # fmt: skip
    assert api.inputs("app.insert.t") == ["a"]
    assert _sources(api) == ["a"]


def test_a_run_that_changes_its_mind_has_one_mapping(api: Api) -> None:
    for at, source in ((1, "a"), (2, "b")):
        api.send(_write(at, source, under="monday", run="one"))
    api.send(_write(3, "c", under="monday", run="two"))
    assert _sources(api) == ["b", "c"]


def test_an_application_that_goes_on_beside_another_has_all_its_writes_again(api: Api) -> None:
    api.send(_write(1, "a", under="notebook"), _write(2, "b", under="nightly"))
    assert _sources(api) == ["b"]
    api.send(_write(3, "c", under="notebook"))
    assert api.inputs("app.insert.t") == ["a", "c"]
    assert _sources(api) == ["a", "c"]
    assert _sources(api, asOf=minute(2)) == ["b"]


def test_writes_of_one_application_that_arrive_backwards_add_up(api: Api) -> None:
    events = [_write(1, "a", under="monday"), _write(2, "b", under="monday")]
    events += [_write(5, "b", under="tuesday"), _write(6, "c", under="tuesday")]
    for event in reversed(events):
        api.send(event)
    assert api.inputs("app.insert.t") == ["b", "c"]
    assert _sources(api) == ["b", "c"]
    assert _sources(api, asOf=minute(3)) == ["a", "b"]


def test_runs_without_a_parent_replace_each_other(api: Api) -> None:
    api.send(_write(1, "a"), _write(2, "b"))
    assert api.inputs("app.insert.t") == ["b"]
    assert _sources(api) == ["b"]


def test_a_streaming_query_that_starts_again_replaces_what_it_read(api: Api) -> None:
    for at, source in ((1, "a"), (2, "b")):
        api.send(_write(at, source, under="worker", job_facets=STREAMING))
    assert api.inputs("app.insert.t") == ["b"]
    assert _sources(api) == ["b"]


def test_the_parent_counts_that_a_runs_first_event_names(api: Api) -> None:
    api.send(_write(1, "a", under="monday"), _write(3, "b", run="late"))
    assert _sources(api) == ["b"]
    start = run_event("START", 2, run="late", job="app.insert.t", parent=parent("monday", "app"))
    api.send(start)
    assert api.inputs("app.insert.t") == ["a", "b"]
    assert _sources(api) == ["a", "b"]


def test_writes_of_an_application_still_add_up_when_old_runs_were_deleted(
    store_url: str, open_api: OpenApi
) -> None:
    """Another run of the same parent goes on, in order and late."""
    with open_api(store_url) as api:
        api.send(*(_write(at, "ab"[at % 2], under="notebook") for at in range(1, 9)))
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    assert prune(store, parse_moment(minute(20))).runs == 4
    store.close()
    with open_api(store_url) as api:
        api.send(_write(30, "c", under="notebook"))
        assert api.inputs("app.insert.t") == _sources(api) == ["a", "b", "c"]
        api.send(_write(25, "d", under="notebook"))
        assert api.inputs("app.insert.t") == _sources(api) == ["a", "b", "c", "d"]
