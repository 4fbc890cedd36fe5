"""Whatever an event holds, it is stored or refused with a reason; what is stored can be read.

Mutations of real events are sent to a server over each store. Every answer is 201 or 4xx, no error
is left to the net under the reader and the writer, every acknowledged event is given back byte for
byte, and every question about what is known then has an answer.
"""

import json
import logging
import os
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from server.api import Api
from server.conftest import open_api
from server.events import as_bytes, run_event
from server.mutations import mutated
from server.stores import Stores

_EXAMPLES = int(os.environ.get("HEADWATER_FUZZ", "1")) * 40


def _settings(examples: int) -> settings:
    return settings(
        max_examples=max(1, examples), deadline=None, derandomize=True, database=None,
        print_blob=True, report_multiple_bugs=False, suppress_health_check=[*HealthCheck],
        phases=[Phase.explicit, Phase.generate],
    )  # fmt: skip


_sequences = st.lists(mutated(), min_size=1, max_size=6)


@_settings(_EXAMPLES)
@example(bodies=[as_bytes(run_event(headwater_lease={"seconds": 1e300}))])
@example(bodies=[as_bytes(run_event(nominalTime={"_deleted": None}))])
@given(bodies=_sequences)
def test_any_event_is_stored_or_refused_by_sqlite(stores: Stores, bodies: list[bytes]) -> None:
    _send_and_ask(stores, "sqlite", bodies)


@_settings(_EXAMPLES // 4)
@example(bodies=[as_bytes(run_event(headwater_lease={"seconds": 1e300}))])
@given(bodies=_sequences)
def test_any_event_is_stored_or_refused_by_postgresql(stores: Stores, bodies: list[bytes]) -> None:
    _send_and_ask(stores, "postgresql", bodies)


def _send_and_ask(stores: Stores, kind: str, bodies: list[bytes]) -> None:
    url = stores.new(kind)
    errors = _Errors()
    logging.getLogger("headwater").addHandler(errors)
    try:
        with open_api(url, lease_check=3600) as api:
            accepted = [body for body in bodies if _is_accepted(api, body)]
            assert not errors.found, "\n".join(errors.found)
            for array in (bodies, bodies[::-1]):  # the same again, in one commit
                told = api.post(b"\n".join(array), "/api/v1/lineage/batch")
                assert told.status_code in (201, 207, 400, 422), told.text
            stored = api.raw_events(kind="all", limit=1000)
            for body in accepted:
                assert body in stored
            assert api.event_count() == len({*accepted})
            _ask_everything(api)
            assert not errors.found, "\n".join(errors.found)
    finally:
        logging.getLogger("headwater").removeHandler(errors)
        stores.drop(url)


def _is_accepted(api: Api, body: bytes) -> bool:
    answer = api.post(body)
    assert answer.status_code == 201 or 400 <= answer.status_code < 500, answer.text
    return answer.status_code == 201


class _Errors(logging.Handler):
    """Keeps what the server logs as an error: the nets below reader and writer do."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


def _ask_everything(api: Api) -> None:
    for path in ("/jobs", "/runs", "/datasets", "/tables", "/sources", "/tags",
                 "/search?q=t", "/search?q=a.b", "/lineage/whole", "/stats/jobs?period=DAY",
                 "/lineage/changes", "/lineage/diff", "/events/search?q=a"):  # fmt: skip
        _ask(api, path)
    for space in _ask(api, "/namespaces")["namespaces"]:
        place = f"/namespaces/{quote(space['name'], '')}"
        _ask(api, place)
        for found in _ask(api, f"{place}/datasets?limit=100")["datasets"]:
            _ask_dataset(api, place, found)
        for found in _ask(api, f"{place}/jobs?limit=100")["jobs"]:
            _ask_job(api, place, found)


def _ask_dataset(api: Api, place: str, found: dict[str, Any]) -> None:
    one = f"{place}/datasets/{quote(found['name'], '')}"
    node = quote(f"dataset:{found['namespace']}:{found['name']}", "")
    for path in (one, f"{one}/versions", f"{one}/snapshots", f"/lineage?nodeId={node}",
                 f"/lineage?nodeId={node}&asOf=2026-03-02T08:02:30Z", f"/impact?nodeId={node}",
                 f"/column-lineage?nodeId={node}&withDownstream=true&detail=true",
                 f"/origin?nodeId={node}"):  # fmt: skip
        _ask(api, path)
    # Records are followed from topics only, and from partitions that a run has reported.
    offsets = f"/reached?nodeId={node}&partition=0&firstOffset=0&lastOffset=9"
    assert api.client.get(f"/api/v1{offsets}").status_code in (200, 400), offsets


def _ask_job(api: Api, place: str, found: dict[str, Any]) -> None:
    one = f"{place}/jobs/{quote(found['name'], '')}"
    node = quote(f"job:{found['namespace']}:{found['name']}", "")
    for path in (one, f"{one}/versions", f"/lineage?nodeId={node}&detail=true"):
        _ask(api, path)
    for run in _ask(api, f"{one}/runs?limit=100")["runs"]:
        whole, plain = f"/jobs/runs/{run['id']}", f"/runs/{run['id']}"
        for path in (whole, f"{whole}/facets?type=run", f"{whole}/facets?type=job",
                     f"{plain}/lineage", f"{plain}/progress",
                     f"/runlineage/upstream?runId={run['id']}"):  # fmt: skip
            _ask(api, path)


def _ask(api: Api, path: str) -> Any:
    answer = api.client.get(f"/api/v1{path}")
    is_past = "asOf" in path and answer.status_code == 404  # it was not there yet
    if answer.status_code != 200 and not is_past:
        pytest.fail(f"{path}: {answer.status_code} {answer.text[:500]}")
    return json.loads(answer.content)
