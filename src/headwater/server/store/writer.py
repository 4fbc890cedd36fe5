"""The one writer: takes events and other changes from any thread, and commits them in groups.

A caller's future is done when what it gave is on disk. What arrives while a commit is under
way waits for the next, so that concurrent requests share commits without any delay set.
"""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from headwater.errors import StoreError
from headwater.model.events import Event
from headwater.model.times import now
from headwater.server.store.aliases import AliasRules, apply_rules, settle_contested
from headwater.server.store.apply import Applier, settle_parents
from headwater.server.store.database import Database, Session
from headwater.server.store.unit import Unit

_MOST = 256  # tasks of one commit
_log = logging.getLogger(__name__)


class _Task(NamedTuple):
    work: Callable[[], Any]
    done: Future[Any]
    events: list[Event]


class Writer:
    """A thread that owns the writing side of a database."""

    def __init__(self, database: Database, rules: AliasRules) -> None:
        self._database = database
        self._unit = Unit()
        self._applier = Applier(self._unit, rules)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)
        self._closed = False
        self._known: set[bytes] = set()  # digests of events that are stored already
        self._thread.start()
        self.submit(lambda: apply_rules(self._unit, rules)).result()

    def ingest(self, events: list[Event]) -> "Future[int]":
        """Store events, all in one commit; the future tells how many were new."""
        return self.submit(lambda: self.store(events), events)

    def change(self, work: "Callable[[Session, Unit], Any]") -> "Future[Any]":
        """Run some other change in a transaction of the writer."""
        return self.submit(lambda: self._changed(work))

    def submit(self, work: Callable[[], Any], events: list[Event] | None = None) -> "Future[Any]":
        """Queue a piece of work."""
        if self._closed:
            raise StoreError("the store is closing", hint="Send the event again in a moment")
        done: Future[Any] = Future()
        self._tasks.put(_Task(work, done, events or []))
        return done

    def close(self) -> None:
        """Finish what was accepted, then end."""
        self._closed = True
        self._tasks.put(None)
        self._thread.join()

    def waiting(self) -> int:
        """How many pieces of work wait for a commit."""
        return self._tasks.qsize()

    def _changed(self, work: "Callable[[Session, Unit], Any]") -> Any:
        self._unit.flush()
        return work(self._unit.session, self._unit)

    def _loop(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            batch, ended = [task], False
            while len(batch) < _MOST and not self._tasks.empty():
                more = self._tasks.get()
                if more is None:
                    ended = True
                    break
                batch.append(more)
            self._commit(batch)
            if ended:
                return

    def _commit(self, batch: list[_Task]) -> None:
        try:
            results = self._transact(batch)
        except Exception as error:
            self._unit.forget()
            if len(batch) == 1:
                _log.warning("a write failed: %s", error, exc_info=error)
                batch[0].done.set_exception(error)
                return
            # One of them is at fault: each gets a transaction of its own.
            for task in batch:
                self._commit([task])
            return
        for task, result in zip(batch, results, strict=True):
            task.done.set_result(result)

    def _transact(self, batch: list[_Task]) -> list[Any]:
        with self._database.writing() as session:
            self._unit.begin(session)
            self._known = _stored(session, [e.digest for task in batch for e in task.events])
            results = [task.work() for task in batch]
            self._settle()
        return results

    def _settle(self) -> None:
        settle_contested(self._unit)
        settle_parents(self._unit)
        self._unit.flush()

    def store(self, events: list[Event]) -> int:
        """Store events inside the writer's transaction; tell how many were new."""
        unit, received, stored = self._unit, now(), 0
        for event in events:
            if event.digest in self._known:
                continue
            self._known.add(event.digest)
            seq = unit.new_id("event")
            run, job = self._applier.apply(event, seq, received)
            base, body = unit.compressor.pack((job or 0, event.kind), seq, event.raw)
            unit.put(
                "event",
                seq,
                event.digest,
                event.time,
                received,
                event.kind.value,
                run,
                job,
                base,
                body,
            )
            stored += 1
        return stored


def _stored(session: Session, digests: list[bytes]) -> set[bytes]:
    """Which of some events are stored already."""
    if not digests:
        return set()
    marks = ", ".join("?" * len(digests))
    rows = session.all(f"SELECT digest FROM event WHERE digest IN ({marks})", *digests)
    return {bytes(row[0]) for row in rows}
