"""Answers with thousands of long names: each route refuses or answers within the memory."""

import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from server.events import Event, as_bytes, dataset, dataset_event, parent, run_event, run_id
from server.process import ServerProcess
from server.questions import ENDLESS, operations
from server.stores import KINDS, Stores
from server.test_large_answers import memory_within_limits

_NAMES, _LENGTH = 5000, 900  # what one job reads: 4.5 MB
_JOBS = 9  # the list of them is 80 MB of JSON
_LARGE = 10**6  # bytes of an answer
_AT_ONCE = 8
_LISTS = ("/jobs?limit=10000", "/v1/runs?limit=10000")
_JOB = "j" * 1000
_MOST = {"limit": "10000", "depth": "100"}


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server with jobs and runs that read the same thousands of datasets."""
    log: Path = tmp_path_factory.mktemp("names") / "server.log"
    with ServerProcess(stores.new(request.param), log) as found:
        for number in range(_JOBS):
            for event in (_event(f"{_JOB}{number}", number), _event(_JOB, number, "runs")):
                packed = gzip.compress(as_bytes(event), 6)
                assert found.api.post(packed, content_encoding="gzip").status_code == 201
        found.api.send(dataset_event(90, dataset(_name(0))))
        yield found


def _name(number: int) -> str:
    return f"{number}_".ljust(_LENGTH, "n")


def _event(job: str, number: int, of: str = "jobs") -> Event:
    inputs = [{"namespace": "db", "name": _name(i)} for i in range(_NAMES)]
    return run_event(
        "COMPLETE", number, job=job, run=f"{of} {number}", inputs=inputs, outputs=["out"],
        parent=parent("all", "all"),
    )  # fmt: skip


def _everything(server: ServerProcess) -> Iterator[str]:
    """Every question, with the highest limits that it takes."""
    of_job = f"/namespaces/jobs/jobs/{_JOB}"
    version = server.api.get(f"{of_job}/versions", limit=1)["versions"][0]["version"]
    known = {"version": version, "run_id": run_id("runs 0"), "runId": run_id("runs 0"), "q": "nnn"}
    for asked in operations(server.api):
        if asked.method != "GET" or asked.path in ENDLESS:
            continue
        for kind, namespace, name in (("job", "jobs", _JOB), ("dataset", "db", _name(0))):
            values = {**known, "namespace": namespace, "name": name}
            values |= {"nodeId": f"{kind}:{namespace}:{name}"}
            path = asked.path.format(**{n: values.get(n, "x") for n in asked.names("path")})
            query = {n: values.get(n, "x") for n in asked.needed()}
            query |= {n: _MOST[n] for n in asked.names("query") if n in _MOST}
            yield f"{path}?{urlencode(query)}"
    yield "/api/v1/namespaces/jobs/jobs/all/children?limit=10000"
    yield "/api/v1/lineage/whole?limit=20000&asOf=2026-03-03T00:00:00Z"


def _received(server: ServerProcess, path: str) -> tuple[int, int, bytes]:
    """The status of an answer, its length and its beginning."""
    with httpx.stream("GET", f"{server.url}{path}", timeout=600) as answer:
        size, start = 0, b""
        for part in answer.iter_raw():
            size, start = size + len(part), (start + part)[:500]
        return answer.status_code, size, start


def test_every_question_fits_into_memory_however_long_its_names_are(
    server: ServerProcess,
) -> None:
    """Too large an answer is refused with what to do; others are read by eight at once."""
    large = []
    with memory_within_limits(server):
        for path in sorted({*_everything(server)}):
            status, size, start = _received(server, path)
            assert status < 500 or b"no such service" in start, (path, status, start)
            if status == 413:
                assert b"Ask for less" in start, (path, start)
            if status == 413 or size > _LARGE:
                large.append(path)
    assert len(large) > 10
    with memory_within_limits(server), ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = large + [path for path in large if path.endswith(_LISTS) for _ in range(_AT_ONCE)]
        statuses = {status for status, *_ in pool.map(lambda path: _received(server, path), asked)}
    assert {200, 413} <= statuses <= {200, 413, 503}


def test_an_answer_is_refused_by_its_size_and_not_by_what_it_is_made_of(
    server: ServerProcess,
) -> None:
    """Of the same list, few things are sent and many are refused."""
    for path in (f"/api/v1/namespaces/jobs/jobs/{_JOB}/runs", "/api/v1/runs"):
        status, size, _ = _received(server, f"{path}?limit=2")
        assert status == 200, path
        assert size > _NAMES * _LENGTH, path
        assert _received(server, f"{path}?limit=100")[0] == 413, path
