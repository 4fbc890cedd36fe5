"""Checks of datasets: what tests and quality tools report of them."""

from typing import Any

import pytest

from server.api import Api
from server.events import Event, dataset, dataset_event, facet, job_event, run_event, schema

_FACET = "dataQualityAssertions"


def _check(name: str, *, success: bool, column: str | None = "id", **more: Any) -> dict[str, Any]:
    told = {"assertion": name, "success": success, **more}
    return told | ({"column": column} if column else {})


def _tested(
    at: float, job: str, *checks: dict[str, Any], run: str | None = None, **own: Any
) -> Event:
    table = dataset("orders") | {"inputFacets": {_FACET: facet(assertions=[*checks]), **own}}
    return run_event("COMPLETE", at, run=run or f"{job}{at}", job=job, inputs=[table])


def _results(told: Any) -> set[tuple[str, str | None, bool]]:
    checks = told["facets"][_FACET]["assertions"]
    found = [(c["assertion"], c.get("column"), c["success"]) for c in checks]
    assert len(found) == len({*found})
    return {*found}


def _write(at: float, run: str) -> Event:
    return run_event("COMPLETE", at, run=run, job="writer", outputs=["orders"])


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_checks_of_several_tests_add_up(api: Api, order: list[int]) -> None:
    events = [
        _tested(1, "not_null", _check("not_null", success=False)),
        _tested(2, "unique", _check("unique", success=True)),
        _tested(3, "not_null", _check("not_null", success=True)),
        _tested(4, "sizes", _check("row_count", success=False, column=None)),
    ]
    api.send(*(events[i] for i in order))
    assert _results(api.dataset("orders")) == {
        ("not_null", "id", True), ("unique", "id", True), ("row_count", None, False),
    }  # fmt: skip


def test_a_failed_check_stays_until_it_passes(api: Api) -> None:
    api.send(
        _tested(1, "suite", _check("a", success=False), _check("b", success=True)),
        _tested(2, "suite", _check("b", success=True)),
    )
    assert ("a", "id", False) in _results(api.dataset("orders"))
    api.send(_tested(3, "suite", _check("a", success=True)))
    assert ("a", "id", True) in _results(api.dataset("orders"))
    assert ("a", "id", False) not in _results(api.dataset("orders"))


def test_a_check_that_passes_in_one_job_does_not_hide_that_it_fails_in_another(api: Api) -> None:
    api.send(
        _tested(1, "strict", _check("a", success=False)),
        _tested(2, "lenient", _check("a", success=True)),
    )
    assert _results(api.dataset("orders")) == {("a", "id", False), ("a", "id", True)}


def test_checks_with_one_name_in_one_event_are_several(api: Api) -> None:
    low, high = _check("range", success=False, min=0), _check("range", success=True, max=9)
    api.send(_tested(1, "suite", low, high))
    checks = api.dataset("orders")["facets"][_FACET]["assertions"]
    assert low in checks
    assert high in checks


def test_failed_checks_come_first(api: Api) -> None:
    api.send(_tested(1, "suite", _check("a", success=True), _check("b", success=False)))
    checks = api.dataset("orders")["facets"][_FACET]["assertions"]
    assert [check["success"] for check in checks] == [False, True]


def test_checks_are_those_of_all_names_of_a_dataset(api: Api) -> None:
    links = facet(identifiers=[{"namespace": "cat", "name": "o", "type": "TABLE"}])
    told = facet(assertions=[_check("b", success=False)])
    alias = dataset("o", "cat") | {"inputFacets": {_FACET: told}}
    api.send(
        _tested(1, "suite", _check("a", success=True)),
        run_event("COMPLETE", 2, run="x", job="other", inputs=[alias]),
        dataset_event(3, dataset("orders", symlinks=links)),
    )
    assert _results(api.dataset("orders")) == {("a", "id", True), ("b", "id", False)}


def test_checks_may_come_with_dataset_and_job_events(api: Api) -> None:
    told = facet(assertions=[_check("b", success=False)])
    table = dataset("orders") | {"inputFacets": {_FACET: told}}
    tested = facet(assertions=[_check("a", success=True)])
    api.send(
        dataset_event(1, dataset("orders", dataQualityAssertions=tested)),
        job_event(2, inputs=[table]),
    )
    assert _results(api.dataset("orders")) == {("a", "id", True), ("b", "id", False)}


@pytest.mark.parametrize("odd", [None, 7, [None], [{}], [{"assertion": 3, "success": "no"}]])
def test_odd_checks_are_kept_as_they_came(api: Api, odd: Any) -> None:
    table = dataset("orders") | {"inputFacets": {_FACET: facet(assertions=odd)}}
    api.send(run_event("COMPLETE", 1, inputs=[table]))
    assert api.dataset("orders")["facets"][_FACET]["assertions"] == odd


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_metrics_and_checks_are_with_the_version_that_was_read(api: Api, order: list[int]) -> None:
    events = [
        _write(1, "first"),
        _tested(2, "a", _check("a", success=False), dataQualityMetrics=facet(rowCount=3)),
        _tested(3, "b", _check("b", success=True)),
        _write(4, "second"),
    ]
    api.send(*(events[i] for i in order))
    second, first = api.get("/namespaces/db/datasets/orders/versions")["versions"]
    assert second["facets"] == {}
    assert _results(first) == {("a", "id", False), ("b", "id", True)}
    assert first["facets"]["dataQualityMetrics"]["rowCount"] == 3
    found = api.get(f"/namespaces/db/datasets/orders/versions/{first['version']}")
    assert found == first


def test_statistics_of_outputs_stay_with_the_run(api: Api) -> None:
    table = dataset("t", schema=schema("a"))
    told = table | {"outputFacets": {"outputStatistics": facet(rowCount=3, size=7)}}
    api.send(run_event("RUNNING", 1, outputs=[told]), run_event("COMPLETE", 2, outputs=[table]))
    (written,) = api.run("run")["outputDatasetVersions"]
    assert written["facets"]["outputStatistics"]["rowCount"] == 3
