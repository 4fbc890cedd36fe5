"""Which applications write a table, as tracing asks: by what their jobs report, not by names."""

from typing import Any

import pytest

from headwater.openlineage.names import DatasetName
from headwater.trace.lineage import Lineage
from server.api import Api
from server.events import dataset, facet, run_event, run_id

_LAKE = "s3://lake"
_TABLE = DatasetName(_LAKE, "default/t")


class _Server:
    """The API, as the commands ask it."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def ask(self, path: str, **params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._api.get(f"/{path}", **params)
        return answer

    def ask_list(self, path: str, **params: Any) -> list[Any]:
        answer: list[Any] = self._api.get(f"/{path}", **params)
        return answer


def _write(
    api: Api, job: str, parent: str | None, processing: str = "BATCH", namespace: str = "jobs"
) -> None:
    """A job that writes the table, perhaps for an application."""
    more: dict[str, Any] = {}
    run = f"{namespace}.{job}"
    if parent:
        started = run_event("START", 0, run=f"{namespace}.{parent}", job=parent)
        started["job"]["namespace"] = namespace
        api.send(started)
        more["parent"] = facet(
            run={"runId": run_id(f"{namespace}.{parent}")},
            job={"namespace": namespace, "name": parent},
        )
    event = run_event("COMPLETE", 1, run=run, job=job, outputs=[dataset(_TABLE.name, _LAKE)],
                      **more)  # fmt: skip
    kind = facet(processingType=processing, integration="SPARK", jobType="QUERY")
    event["job"] = {"namespace": namespace, "name": job, "facets": {"jobType": kind}}
    api.send(event)


@pytest.mark.parametrize("parent", ["app", None])
def test_streaming_queries_whose_names_begin_alike_are_writers_of_their_own(
    api: Api, parent: str | None
) -> None:
    """A query has a plan of its own, even where one application has started both."""
    for name in ("load.a", "load.b"):
        _write(api, name, parent, "STREAMING")
    assert Lineage(_Server(api)).applications(_TABLE) == ["load.a", "load.b"]


def test_batch_writes_of_an_application_are_of_one_writer(api: Api) -> None:
    for name in ("etl.daily.append_data.default_t", "etl.daily.overwrite.default_t"):
        _write(api, name, "etl.daily")
    assert Lineage(_Server(api)).applications(_TABLE) == ["etl.daily"]


def test_applications_whose_names_begin_alike_are_told_apart(api: Api) -> None:
    for name in ("etl.daily", "etl.hourly"):
        _write(api, f"{name}.append_data.default_t", name)
    assert Lineage(_Server(api)).applications(_TABLE) == ["etl.daily", "etl.hourly"]


def test_jobs_without_an_application_are_told_apart(api: Api) -> None:
    for name in ("etl.one", "etl.two"):
        _write(api, name, None)
    assert Lineage(_Server(api)).applications(_TABLE) == ["etl.one", "etl.two"]


def test_applications_of_one_name_in_two_namespaces_are_namesakes(api: Api) -> None:
    job = "etl.append_data.default_t"
    _write(api, job, "etl")
    lineage = Lineage(_Server(api))
    own = {"namespace": "jobs", "name": job}
    assert lineage.namesakes(_TABLE, own) is None
    _write(api, job, "etl", namespace="others")
    lineage = Lineage(_Server(api))
    assert "several namespaces (jobs, others)" in str(lineage.namesakes(_TABLE, own))
    assert lineage.applications(_TABLE) == ["etl of jobs", "etl of others"]
