"""Versions of datasets and jobs: what makes one, and which is the current one."""

import itertools
from typing import Any

import pytest

from server.api import Api
from server.events import (
    Event,
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    lineage,
    minute,
    run_event,
    run_id,
    schema,
)


def _versions(api: Api, name: str) -> list[Any]:
    found: list[Any] = api.get(f"/namespaces/db/datasets/{name}/versions")["versions"]
    return found


def _columns(version: Any) -> list[str]:
    return [field["name"] for field in version["fields"]]


def _job_versions(api: Api, name: str = "job") -> list[Any]:
    found: list[Any] = api.get(f"/namespaces/jobs/jobs/{name}/versions")["versions"]
    return found


def _written(name: str, **facets: Any) -> dict[str, Any]:
    return dataset(name) | {"outputFacets": facets}


def test_a_dataset_event_makes_a_version(api: Api) -> None:
    api.send(dataset_event(1, dataset("t", schema=schema("a"), custom=facet(x=1))))
    (version,) = _versions(api, "t")
    assert (version["createdAt"], _columns(version)) == (minute(1), ["a"])
    assert version["createdByRun"] is None
    assert version["facets"]["custom"]["x"] == 1
    assert api.dataset("t")["currentVersion"] == version["version"]
    assert api.get(f"/namespaces/db/datasets/t/versions/{version['version']}") == version


def test_a_dataset_event_that_repeats_a_schema_makes_no_other_version(api: Api) -> None:
    api.send(*(dataset_event(at, dataset("t", schema=schema("a"))) for at in (2, 1, 3)))
    (version,) = _versions(api, "t")
    assert version["createdAt"] == minute(1)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_the_latest_of_runs_and_dataset_events_is_current(api: Api, order: list[int]) -> None:
    events = [
        dataset_event(1, dataset("t", schema=schema("a"))),
        run_event("COMPLETE", 2, outputs=[dataset("t", schema=schema("a"))]),
        dataset_event(3, dataset("t", schema=schema("a", "b"))),
    ]
    api.send(*(events[i] for i in order))
    versions = _versions(api, "t")
    assert [v["createdAt"] for v in versions] == [minute(3), minute(2), minute(1)]
    assert [v["createdByRun"] and v["createdByRun"]["id"] for v in versions] == [
        None, run_id("run"), None,
    ]  # fmt: skip
    assert api.dataset("t")["currentVersion"] == versions[0]["version"]


def test_a_run_reads_the_version_that_a_dataset_event_told(api: Api) -> None:
    api.send(
        dataset_event(1, dataset("t", schema=schema("a"))), run_event("COMPLETE", 2, inputs=["t"])
    )
    (version,) = _versions(api, "t")
    (read,) = api.run("run")["inputDatasetVersions"]
    assert read["datasetVersionId"]["version"] == version["version"]


def test_a_job_event_makes_a_job_version(api: Api) -> None:
    api.send(job_event(1, inputs=["a"], outputs=["b"]))
    (version,) = _job_versions(api)
    assert (version["createdAt"], version["latestRun"]) == (minute(1), None)
    assert [d["name"] for d in version["inputs"]] == ["a"]
    assert [d["name"] for d in version["outputs"]] == ["b"]
    assert api.job("job")["currentVersion"] == version["version"]
    assert api.get(f"/namespaces/jobs/jobs/job/versions/{version['version']}") == version


def test_a_job_event_without_datasets_makes_the_empty_version(api: Api) -> None:
    api.send(job_event(1))
    (version,) = _job_versions(api)
    assert (version["inputs"], version["outputs"], version["latestRun"]) == ([], [], None)
    assert api.job("job")["currentVersion"] == version["version"]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_run_and_a_job_event_with_the_same_datasets_share_a_version(
    api: Api, order: list[int]
) -> None:
    events: list[Event] = [
        run_event("COMPLETE", 1, inputs=["a"], outputs=["b"]),
        job_event(2, inputs=["a"], outputs=["b"]),
        job_event(3, inputs=["a", "x"], outputs=["b"]),
    ]
    api.send(*(events[i] for i in order))
    newer, older = _job_versions(api)
    assert (newer["createdAt"], newer["latestRun"]) == (minute(3), None)
    assert (older["createdAt"], older["latestRun"]["id"]) == (minute(1), run_id("run"))
    assert api.job("job")["currentVersion"] == newer["version"]
    assert api.run("run")["jobVersion"]["version"] == older["version"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_input_that_lineage_named_before_is_part_of_the_job_version(
    api: Api, order: tuple[int, int]
) -> None:
    written = dataset("b", columnLineage=lineage(x=[comes_from("a", "x")]))
    events = [
        run_event("START", 1, outputs=[written]),
        run_event("COMPLETE", 2, inputs=["a"], outputs=[written]),
    ]
    for number in order:
        api.send(events[number])
    api.send(job_event(3, inputs=["a"], outputs=["b"]))
    (version,) = _job_versions(api)
    assert api.run("run")["jobVersion"]["version"] == version["version"]


def _failing(table: dict[str, Any], **run_facets: Any) -> list[Event]:
    return [
        run_event("COMPLETE", 1, run="good", job="writer", outputs=["t"]),
        run_event("START", 2, run="bad", job="writer", outputs=["t"]),
        run_event("FAIL", 3, run="bad", job="writer", outputs=[table], **run_facets),
        run_event("COMPLETE", 4, run="reads", job="reader", inputs=["t"]),
    ]


def _current(api: Api) -> Any:
    """The runs that made the current version and the one that was read, and all versions."""
    by_version = {v["version"]: v["createdByRun"]["id"] for v in _versions(api, "t")}
    (read,) = api.run("reads")["inputDatasetVersions"]
    return (
        by_version[api.dataset("t")["currentVersion"]],
        by_version[read["datasetVersionId"]["version"]],
        [*by_version.values()],
    )


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
@pytest.mark.parametrize(
    "facets", [{}, {"outputStatistics": facet(rowCount=0, size=0, fileCount=0)}]
)
def test_what_a_failed_run_did_not_write_is_not_current(
    api: Api, facets: dict[str, Any], order: list[int]
) -> None:
    events = _failing(_written("t", **facets))
    api.send(*(events[i] for i in order))
    good, bad = run_id("good"), run_id("bad")
    assert _current(api) == (good, good, [bad, good])


_EVIDENCE = {
    "rows": _written("t", outputStatistics=facet(rowCount=3)),
    "bytes": _written("t", outputStatistics=facet(size=10)),
    "schema": dataset("t", schema=schema("a"))
    | {"outputFacets": {"outputStatistics": facet(rowCount=1)}},
    "version": dataset("t", version=facet(datasetVersion="123")),
}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
@pytest.mark.parametrize("kind", _EVIDENCE)
def test_what_a_failed_run_did_write_is_current(api: Api, kind: str, order: list[int]) -> None:
    events = _failing(_EVIDENCE[kind])
    api.send(*(events[i] for i in order))
    current, read, _ = _current(api)
    assert (current, read) == (run_id("bad"), run_id("bad"))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
def test_what_a_failed_stream_committed_is_current(api: Api, order: list[int]) -> None:
    events = _failing(dataset("t"), headwater_progress=facet(rows=5))
    api.send(*(events[i] for i in order))
    assert _current(api)[0] == run_id("bad")


def test_a_running_run_makes_the_current_version(api: Api) -> None:
    api.send(
        run_event("COMPLETE", 1, run="good", outputs=["t"]),
        run_event("START", 2, run="now", outputs=["t"]),
    )
    assert api.dataset("t")["currentVersion"] == _versions(api, "t")[0]["version"]


def test_a_dataset_that_only_a_failed_run_names_has_no_current_version(api: Api) -> None:
    api.send(run_event("FAIL", 1, outputs=["t"]))
    assert api.dataset("t")["currentVersion"] is None
    assert len(_versions(api, "t")) == 1
