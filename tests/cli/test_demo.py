"""The demo's labs and its verdict, against a lineage server with a lineage that is known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.cli.client import Client
from headwater.cli.demo.labs import LABS, Lab, connector
from headwater.cli.demo.truth import Truth, columns, job
from headwater.cli.demo.verify import Fact, check
from server.process import ServerProcess

KAFKA = "broker:9092"
TOPIC = {"namespace": f"kafka://{KAFKA}", "name": "orders"}
TABLE = {"namespace": "s3://warehouse", "name": "totals"}
TRUTH = Truth(
    jobs=(job("source", "", "topic:orders"), job("totals", "topic:orders", "table:totals")),
    datasets={
        "topic:orders": {"price": frozenset(), "item": frozenset()},
        "table:totals": columns("orders", total="price", count=""),
    },
)


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_labs_name_connectors_and_datasets_that_there_are(lab: Lab) -> None:
    assert all(connector(name) for name in (*lab.connectors, *lab.batch))
    touched = {short for one in lab.truth.jobs for short in (*one.reads, *one.writes)}
    assert touched == set(lab.truth.datasets)
    assert not lab.batch or lab.filled_by in lab.connectors


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("verdict")
    with ServerProcess(f"sqlite:///{folder}/lineage.db", folder / "server.log") as server:
        yield server.url


def tell(url: str, name: str, inputs: list[Any], outputs: list[Any], state: str) -> None:
    event = {
        "eventType": state,
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "urn:test",
        "run": {"runId": f"00000000-0000-4000-8000-{abs(hash(name)) % 10**12:012}"},
        "job": {"namespace": "default", "name": name},
        "inputs": inputs,
        "outputs": outputs,
    }
    assert httpx.post(f"{url}/api/v1/lineage", json=event).status_code == 201


def dataset(place: dict[str, str], **inputs: str) -> dict[str, Any]:
    fields = [{"name": name, "type": "string"} for name in inputs]
    lineage = {
        name: {
            "inputFields": [
                {**TOPIC, "field": field, "transformations": [{"type": "DIRECT"}]}
                for field in origins.split()
            ]
        }
        for name, origins in inputs.items()
    }
    return {**place, "facets": {"schema": {"fields": fields}, "columnLineage": {"fields": lineage}}}


def wrong(url: str) -> list[Fact]:
    with Client(url) as client:
        return [fact for fact in check(client, TRUTH, KAFKA) if not fact.right]


def test_verdict_names_what_is_wrong_and_nothing_else(url: str) -> None:
    assert len(wrong(url)) > 5  # nothing is known yet
    topic = dataset(TOPIC, price="", item="")
    tell(url, "source", [], [topic], "RUNNING")
    tell(url, "totals", [topic], [dataset(TABLE, total="item", count="", extra="")], "FAIL")
    found = {(fact.kind, fact.what): fact.found for fact in wrong(url)}
    assert found == {
        ("state", "totals"): "FAILED",
        ("columns", "table:totals"): "count, extra, total",
        ("comes from", "table:totals.total"): "orders.item",
    }
    tell(url, "totals again", [topic], [], "RUNNING")
    assert len(wrong(url)) == 3
