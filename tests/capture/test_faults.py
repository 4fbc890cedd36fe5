"""A query that cannot be asked, or whose reports are odd, is nobody else's trouble."""

from typing import Any

import pytest
from py4j.protocol import Py4JError, get_return_value

from headwater.capture.connect.queries import Queries, Query
from headwater.capture.events import Event, RunName
from headwater.capture.fault_barrier import jvm_is_gone
from headwater.capture.runs import Runs
from headwater.openlineage.names import JobName


class Outlet:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Event] = []

    def emit(self, event: Event) -> None:
        self.told.append(event)

    def jobs(self) -> list[str]:
        return [event["job"]["name"] for event in self.told]


class Handle:
    """A client's object for a query, of which some answers fail."""

    def __init__(self, *, is_lost: bool = False, is_active: bool = True) -> None:
        self.is_lost, self.is_active = is_lost, is_active

    @property
    def isActive(self) -> bool:  # noqa: N802
        if self.is_lost:
            raise ConnectionError("no answer")
        return self.is_active

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        return [{"odd": "report"}]

    def exception(self) -> Exception | None:
        return None


@pytest.fixture
def outlet() -> Outlet:
    return Outlet()


@pytest.fixture
def runs(outlet: Outlet) -> Runs:
    runs = Runs(outlet, "4.1", heartbeat=0.0, lease=60.0)
    for number in range(3):
        runs.start(RunName(f"{number}", JobName("n", f"job {number}")), {})
    outlet.told.clear()
    return runs


def test_a_heartbeat_that_fails_stops_no_other(
    runs: Runs, outlet: Outlet, caplog: pytest.LogCaptureFixture
) -> None:
    runs.progressed("1", "q", [{"id": "q", "sources": [{"metrics": "no object"}]}], [])
    runs.beat()
    assert outlet.jobs() == ["job 0", "job 1", "job 2"]
    assert "capture failed at a query's progress" in caplog.text


def test_a_query_that_is_lost_stops_no_other(runs: Runs, outlet: Outlet) -> None:
    queries = Queries(runs, heartbeat=0.0)
    queries.add("0", Query(Handle(is_lost=True), is_bounded=True))
    queries.add("1", Query(Handle(is_active=False), is_bounded=True))
    queries.add("2", Query(Handle(), is_bounded=False))
    queries.look_now()
    assert [(event["job"]["name"], event["eventType"]) for event in outlet.told] == [
        ("job 1", "COMPLETE")
    ]
    assert [run.run_id for run in runs.living()] == ["0", "2"]


def test_without_any_answer_there_are_no_heartbeats(runs: Runs) -> None:
    """The queries live in the server: when it is gone, nobody knows of them."""
    queries = Queries(runs, heartbeat=0.0)
    queries.add("0", Query(Handle(is_lost=True), is_bounded=True))
    with pytest.raises(ConnectionError):
        queries.look_now()


def test_a_call_without_an_answer_is_told_from_an_error_of_the_jvm() -> None:
    with pytest.raises(Py4JError) as unanswered:
        get_return_value("x", None, "o485", "isActive")
    assert jvm_is_gone(unanswered.value)
    with pytest.raises(Py4JError) as wrong:
        get_return_value("xsno such method", None, "o485", "isActive")
    assert not jvm_is_gone(wrong.value)
