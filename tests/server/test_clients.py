"""Marquez's own Python client, and a machine that tries everything the API describes."""

import contextlib
import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from marquez_client import MarquezClient
from marquez_client.models import DatasetId, DatasetType, JobType
from schemathesis import APIOperation, Case, GenerationMode

from server.events import dataset, minute, run_event, run_id, schema
from server.process import ServerProcess

EXAMPLES = int(os.environ.get("HEADWATER_TEST_API_EXAMPLES", "5"))


def test_marquez_client_reads_what_was_ingested(server: ServerProcess) -> None:
    out = dataset("totals", schema=schema("total", "shop"))
    server.api.send(run_event("START", 1, inputs=["orders"], outputs=[out]))
    server.api.send(run_event("COMPLETE", 2, inputs=["orders"], outputs=[out]))
    client = MarquezClient(url=server.url)
    spaces = client.list_namespaces()["namespaces"]
    assert {"db", "jobs", "default"} <= {space["name"] for space in spaces}
    assert client.get_namespace("db")["name"] == "db"
    assert [job["name"] for job in client.list_jobs("jobs")["jobs"]] == ["job"]
    job = client.get_job("jobs", "job")
    assert [d["name"] for d in job["inputs"]] == ["orders"]
    names = [d["name"] for d in client.list_datasets("db")["datasets"]]
    assert names == ["orders", "totals"]
    found = client.get_dataset("db", "totals")
    assert [f["name"] for f in found["fields"]] == ["total", "shop"]
    versions = client.list_dataset_versions("db", "totals")["versions"]
    assert client.get_dataset_version("db", "totals", versions[0]["version"])["name"] == "totals"
    runs = client.list_job_runs("jobs", "job")["runs"]
    assert [run["state"] for run in runs] == ["COMPLETED"]
    assert client.get_job_run(run_id("run"))["endedAt"] == minute(2)


# Marquez wants OpenLineage used instead, but its clients still have these.
@pytest.mark.filterwarnings("ignore:.* is deprecated as of 0.20.0:DeprecationWarning")
def test_marquez_client_declares_what_it_knows(server: ServerProcess) -> None:
    client = MarquezClient(url=server.url)
    client.create_namespace("team", "me", "ours")
    assert client.get_namespace("team")["ownerName"] == "me"
    client.create_source("warehouse", "POSTGRESQL", "jdbc:postgresql://h:5432/w", "a source")
    assert client.get_source("warehouse")["connectionUrl"] == "jdbc:postgresql://h:5432/w"
    assert [s["name"] for s in client.list_sources()["sources"]] == ["warehouse"]
    client.create_dataset(
        "team", "people", DatasetType.DB_TABLE, "public.people", "warehouse", "persons",
        fields=[{"name": "age", "type": "INTEGER"}],
    )  # fmt: skip
    assert client.get_dataset("team", "people")["description"] == "persons"
    client.create_job(
        "team", "count", JobType.BATCH, inputs=[DatasetId("team", "people")], outputs=[]
    )
    assert [d["name"] for d in client.get_job("team", "count")["inputs"]] == ["people"]
    client.create_tag("private", "not for all")
    client.tag_dataset("team", "people", "private")
    assert client.get_dataset("team", "people")["tags"] == ["private"]
    run = client.create_job_run("team", "count")["id"]
    client.mark_job_run_as_started(run)
    client.mark_job_run_as_completed(run)
    assert client.get_job_run(run)["state"] == "COMPLETED"


@pytest.mark.parametrize("mode", [*GenerationMode])
def test_nothing_that_the_api_describes_ends_in_5xx(
    server: ServerProcess, mode: GenerationMode
) -> None:
    server.api.send(run_event(inputs=["a"], outputs=[dataset("b", schema=schema("x"))]))
    described = schemathesis.openapi.from_url(f"{server.url}/api/docs/openapi.json")
    found: list[Any] = [*described.get_all_operations()]
    operations = [each.ok() for each in found]
    assert len(operations) > 40
    for operation in operations:
        _try(operation, mode)


def _try(operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def attempt(case: Case[Any]) -> None:
        answer = case.call()
        assert answer.status_code < 500, f"{case.as_curl_command()}: {answer.text}"

    with contextlib.suppress(Unsatisfiable):  # what takes nothing has no bad forms
        attempt()
