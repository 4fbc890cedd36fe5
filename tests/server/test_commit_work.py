"""The work of a commit grows with its events, also where all of them are of one instant or late."""

from collections.abc import Callable
from typing import Any

import pytest

from headwater.server.store.aliases import AliasRules
from headwater.server.store.postgres import PostgresSession
from headwater.server.store.sqlite import SqliteSession
from headwater.server.store.store import Store
from server.events import Event, as_bytes, dataset, run_event, symlinks
from server.stores import Stores

Shape = Callable[[int], Event]


def _runs_of_one_instant(number: int) -> Event:
    return run_event("COMPLETE", 1, run=f"r{number}", inputs=["in"], outputs=[f"out_{number}"])


def _late_runs(number: int) -> Event:
    return run_event("COMPLETE", 60 - number / 60, run=f"r{number}", inputs=["in"],
                     outputs=[f"out_{number}"])  # fmt: skip


def _names_of_one_run(number: int) -> Event:
    return run_event("RUNNING", 1, inputs=["in"], outputs=[f"out_{number}"])


def _chained_symlinks(number: int) -> Event:
    link = symlinks(("db", f"name_{number + 1}"))
    return run_event(
        "COMPLETE", 1, run=f"r{number}", inputs=[dataset(f"name_{number}", symlinks=link)]
    )


def _chained_late(number: int) -> Event:
    link = symlinks(("db", f"name_{number + 1}"))
    return run_event("COMPLETE", 60 - number / 60, run=f"r{number}",
                     inputs=[dataset(f"name_{number}", symlinks=link)])  # fmt: skip


_SHAPES = (
    _runs_of_one_instant, _late_runs, _names_of_one_run, _chained_symlinks, _chained_late,
)  # fmt: skip


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each statement has read or written."""
    found: list[int] = []
    for session in (SqliteSession, PostgresSession):
        read, written = session.all, session.many

        def counted_all(self: Any, sql: str, *params: Any, read: Any = read) -> list[Any]:
            result: list[Any] = read(self, sql, *params)
            found.append(1 + len(result))
            return result

        def counted_many(self: Any, sql: str, rows: Any, written: Any = written) -> None:
            found.append(1 + len(rows))
            written(self, sql, rows)

        monkeypatch.setattr(session, "all", counted_all)
        monkeypatch.setattr(session, "many", counted_many)
    return found


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("shape", _SHAPES)
def test_work_of_a_commit_grows_with_its_events(
    stores: Stores, rows: list[int], kind: str, shape: Shape
) -> None:
    """Of four times the events, the rows are some four times; were it the square, they were 16."""
    work = []
    for count in (60, 240):
        url = stores.new(kind)
        store = Store(url, AliasRules(()))
        rows.clear()
        store.ingest([store.read(as_bytes(shape(number))) for number in range(count)]).result()
        work.append(sum(rows))
        store.close()
        stores.drop(url)
    assert work[1] < 6 * work[0], work
