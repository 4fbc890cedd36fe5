"""Long chains in one batch cost the store as much per event as short ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headwater.openlineage.reading import EventReader
from headwater.server.ingest.scrubbing import Scrubber
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Database, Row, Session, open_database
from headwater.server.store.writer import Writer
from server.events import Event, as_bytes, parent, run_event
from server.stores import KINDS, Stores

Chain = Callable[[int], list[Event]]
SHORT, LONG = 160, 480
_read = EventReader(Scrubber().scrub).read


class CountedSession:
    """A connection that counts statements and the rows that they read and write."""

    def __init__(self, session: Session, count: Callable[[int], None]) -> None:
        self.dialect, self._session, self._count = session.dialect, session, count

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer."""
        rows = self._session.all(sql, *params)
        self._count(1 + len(rows))
        return rows

    def many(self, sql: str, rows: list[Row]) -> None:
        """Run one statement for each row."""
        self._session.many(sql, rows)
        self._count(1 + len(rows))

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""
        self._session.run(sql, *params)
        self._count(1)


class CountedDatabase:
    """A database whose writing is counted."""

    def __init__(self, database: Database) -> None:
        self.database, self.work = database, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def _count(self, work: int) -> None:
        self.work += work

    @contextmanager
    def writing(self) -> Iterator[CountedSession]:
        """A transaction."""
        with self.database.writing() as session:
            yield CountedSession(session, self._count)


def parents_without_events(length: int) -> list[Event]:
    return [_under(f"leaf {i}", f"P{i}", f"P{i + 1}") for i in range(length)]


def parents_without_events_from_the_top(length: int) -> list[Event]:
    return parents_without_events(length)[::-1]


def parents_with_events(length: int) -> list[Event]:
    ids = range(length)
    told = [run_event("START", 1, run=f"{i}", parent=parent(f"{i + 1}", "job")) for i in ids]
    return [*told, run_event("FAIL", 2, run=f"{length}")]


def _under(run: str, above: str, root: str) -> Event:
    top = parent(root, "parent")
    return run_event(
        "START",
        1,
        run=run,
        parent=parent(above, "parent", root={k: top[k] for k in ("run", "job")}),
    )


PARENTS = [parents_without_events, parents_without_events_from_the_top, parents_with_events]


def work_of(url: str, *batches: list[Event]) -> list[int]:
    """What each batch costs, one after the other, in an empty store."""
    database = CountedDatabase(open_database(url))
    writer = Writer(database, AliasRules(()), 0)  # type: ignore[arg-type]
    try:
        work = []
        for batch in batches:
            before = database.work
            assert writer.ingest([_read(as_bytes(event), None) for event in batch]).result()
            work.append(database.work - before)
        return work
    finally:
        writer.close()
        database.close()


@pytest.fixture(params=KINDS)
def work(request: pytest.FixtureRequest, stores: Stores) -> Callable[..., list[int]]:
    """Tells what batches cost in an empty store of each kind."""

    def tell(*batches: list[Event]) -> list[int]:
        url = stores.new(request.param)
        try:
            return work_of(url, *batches)
        finally:
            stores.drop(url)

    return tell


def _later(event: Event) -> list[Event]:
    return [{**event, "eventType": "COMPLETE", "eventTime": "2026-03-02T09:00:00Z"}]


@pytest.mark.parametrize("chain", PARENTS)
def test_events_do_not_cost_by_the_chain_they_are_part_of(
    work: Callable[..., list[int]], chain: Chain
) -> None:
    short, long = (
        work(told, _later(told[0]), _later(told[-1])) for told in (chain(SHORT), chain(LONG))
    )
    assert long[0] <= 1.25 * short[0] * LONG / SHORT
    assert max(long[1:]) <= 1.25 * max(short[1:])
