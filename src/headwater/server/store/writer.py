"""The one writer: takes events and other changes from any thread, and commits them in groups.

A caller's future is done when what it gave is on disk. What arrives while a commit is under
way waits for the next, so that concurrent requests share commits without any delay set.

A commit fails for one of two reasons. In an outage (the store is locked, full, read-only, gone)
all of it fails at once. Otherwise one of the tasks is at fault: it is found by halves, and fails
alone.
"""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import Any, NamedTuple

from headwater.errors import EventNotStored, HeadwaterError, StoreError, WriteFailed
from headwater.openlineage.events import Event
from headwater.openlineage.times import now
from headwater.server.store.aliases import AliasRules, apply_rules, settle_contested, settle_joined
from headwater.server.store.apply import Applier
from headwater.server.store.database import Database, Session, among
from headwater.server.store.edges import settle_edges
from headwater.server.store.migrate import check_version
from headwater.server.store.run_owners import require_own_runs
from headwater.server.store.run_trees import settle_children, settle_parents
from headwater.server.store.unit import Unit

_MOST = 256  # tasks of one commit
_GROWN = 500  # events after which the store is tended; then at each doubling
_IDLE = 2.0  # seconds without anything to write, after which the store may put things away
# What a probe writes after an outage: entries of `deferred` for a time that never comes.
_NEVER_DUE = 2**62
_FILLER = 4000  # entries, about 64 KiB
_ADD_FILLER = "INSERT INTO deferred (time, seq) VALUES (?, ?)"
_REMOVE_FILLER = "DELETE FROM deferred WHERE time = ?"
_log = logging.getLogger(__name__)


class _Waiter(NamedTuple):
    """A coroutine that waits; those of one commit are woken together."""

    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class _Task(NamedTuple):
    work: Callable[[], Any]
    done: "Future[Any] | _Waiter"
    events: list[Event]


class Writer:
    """A thread that owns the writing side of a database."""

    def __init__(self, database: Database, rules: AliasRules, tolerance: int) -> None:
        self._database = database
        self._tolerance = tolerance  # microseconds by which events may be ahead of the clock
        self._unit = Unit(database.name)
        self._applier = Applier(self._unit, rules)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)
        self._closed = False
        self.committed: Callable[[], None] | None = None  # told when those who watch have news
        self.rested: Callable[[], None] | None = None  # told when nothing was written for a while
        self.failure: StoreError | None = None  # why the last commit failed, in an outage
        self.failed_at = 0  # when a write last failed in an outage, by the clock of events
        self.committed_at = monotonic()
        self._known: set[bytes] = set()  # digests of events that are stored already
        self._has_news = False  # whether the last commit changed what someone watches
        self._taken, self._tend_at = 0, _GROWN  # events since the start, and when to tend
        self._thread.start()
        self.submit(lambda: apply_rules(self._unit, rules)).result()

    def ingest(self, events: list[Event]) -> "Future[int]":
        """Store events, all in one commit; the future tells how many were new."""
        return self.submit(lambda: self.store(events), events)

    async def ingest_soon(self, events: list[Event]) -> int:
        """Store events, and go on when they are on disk; tell how many were new."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        self._put(_Task(lambda: self.store(events), _Waiter(loop, future), events))
        return await future

    def change(self, work: "Callable[[Session, Unit], Any]") -> "Future[Any]":
        """Run some other change in a transaction of the writer."""
        return self.submit(lambda: self._changed(work))

    def submit(self, work: Callable[[], Any], events: list[Event] | None = None) -> "Future[Any]":
        """Queue a piece of work."""
        done: Future[Any] = Future()
        self._put(_Task(work, done, events or []))
        return done

    def _put(self, task: _Task) -> None:
        if self._closed:
            raise StoreError("the store is closing", hint="Send the event again in a moment")
        self._tasks.put(task)

    def close(self) -> None:
        """Finish what was accepted, then end."""
        self._closed = True
        self._tasks.put(None)
        self._thread.join()

    def waiting(self) -> int:
        """How many pieces of work wait for a commit."""
        return self._tasks.qsize()

    def _changed(self, work: "Callable[[Session, Unit], Any]") -> Any:
        settle_edges(self._unit)
        self._unit.flush()
        return work(self._unit.session, self._unit)

    def _loop(self) -> None:
        is_idle = True
        while True:
            try:
                task = self._tasks.get(timeout=None if is_idle else _IDLE)
            except queue.Empty:
                is_idle = True
                self._look_after(self._database.rest)
                if self.rested is not None:
                    self.rested()
                continue
            is_idle = False
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
            self._tend()
            if ended:
                return

    def _tend(self) -> None:
        """Look after the store when it has grown; those who wait have been told before."""
        if self._taken < self._tend_at:
            return
        self._tend_at *= 2
        self._look_after(self._database.tend)

    def _look_after(self, how: Callable[[], None]) -> None:
        try:
            how()
        except Exception as error:  # whatever it is, writing goes on
            _log.warning("maintenance of the store failed: %s", error)

    def _commit(self, batch: list[_Task], *, is_retry: bool = False) -> None:
        try:
            results = self._transact(batch)
        except Exception as error:
            self._unit.undo()
            self._note(self._outage(error))
            if self.failure is not None:
                if self._recover() and not is_retry and all(t.events for t in batch):
                    # The connection was lost, or a server that stood still held the lock. Whether
                    # or not the commit was done, events may be stored again.
                    self._commit(batch, is_retry=True)
                    return
                _log.warning("%s", self.failure.message)
                _finish([(task, None, self.failure) for task in batch])
            elif len(batch) == 1:
                _finish([(batch[0], None, _fault(batch[0], error))])
            else:
                half = len(batch) // 2
                self._commit(batch[:half])
                self._commit(batch[half:])
            return
        self.failure, self.committed_at = None, monotonic()
        _finish([(task, result, None) for task, result in zip(batch, results, strict=True)])
        if self._has_news and self.committed is not None:
            self.committed()

    def _recover(self) -> bool:
        try:
            return self._database.recover()
        except Exception as error:  # the next write will tell
            _log.warning("connections to the store could not be renewed: %s", error)
            return False

    def _outage(self, error: Exception) -> StoreError | None:
        if isinstance(error, StoreError):
            return error
        reason = self._database.outage(error)
        if isinstance(error, MemoryError):
            reason = "the server is out of memory"
        return None if reason is None else WriteFailed(self._database.name, reason)

    def _transact(self, batch: list[_Task]) -> list[Any]:
        with self._database.writing() as session:
            self._unit.begin(session)
            self._look_ahead(session, [event for task in batch for event in task.events])
            results = [task.work() for task in batch]
            self._has_news = self._settle()
        return results

    def probe(self, *, is_retry: bool = False) -> StoreError | None:
        """Write something that changes nothing; tell why that fails, if it does.

        After an outage it is as much as an event takes: less may fit on a full disk.
        """
        try:
            if self.failure is not None:
                with self._database.writing() as session:
                    session.run("UPDATE clock SET generation = generation")
                    session.run(_REMOVE_FILLER, _NEVER_DUE)
                    session.many(_ADD_FILLER, [(_NEVER_DUE, n) for n in range(_FILLER)])
            with self._database.writing() as session:
                session.run("UPDATE clock SET generation = generation")
                # SQLite writes nothing where a row stays the same.
                session.run("INSERT INTO migration VALUES (0)")
                session.run("DELETE FROM migration WHERE version = 0")
                session.run(_REMOVE_FILLER, _NEVER_DUE)
                ((version,),) = session.all("SELECT max(version) FROM migration")
                check_version(version, self._database.name)
        except Exception as error:
            failure = self._outage(error)
            if failure is None:
                raise
            if self._recover() and not is_retry:
                return self.probe(is_retry=True)
            self._note(failure)
        else:
            self.failure, self.committed_at = None, monotonic()
        return self.failure

    def _note(self, failure: StoreError | None) -> None:
        self.failure = failure
        if failure is not None:
            self.failed_at = now()

    def _look_ahead(self, session: Session, events: list[Event]) -> None:
        """Read at once what the events of a commit would each ask for."""
        digests = [event.digest for event in events]
        found = among(session, "SELECT digest FROM event WHERE digest IN", digests)
        self._known = {bytes(row[0]) for row in found}
        self._unit.expect({event.run.bytes for event in events if event.run})

    def _settle(self) -> bool:
        settle_edges(self._unit)
        settle_joined(self._unit)
        settle_contested(self._unit)
        settle_children(self._unit)
        settle_parents(self._unit)
        self._unit.flush()
        return self._unit.write_feed()

    def apply_deferred(self, seq: int, event: Event) -> bool:
        """Apply a stored event whose time has come; False if another server did that."""
        session = self._unit.session
        if not session.all("SELECT 1 FROM deferred WHERE time = ? AND seq = ?", event.time, seq):
            return False
        run, job = self._applier.apply(event, seq, now())
        session.run("UPDATE event SET run = ?, job = ? WHERE seq = ?", run, job, seq)
        session.run("DELETE FROM deferred WHERE time = ? AND seq = ?", event.time, seq)
        return True

    def store(self, events: list[Event]) -> int:
        """Store events inside the writer's transaction; tell how many were new.

        What is dated later than the clock and the tolerance is not applied yet: it is deferred.
        """
        unit, received, stored = self._unit, now(), 0
        for event in events:
            if event.digest in self._known:
                continue
            require_own_runs(unit, event)
            self._known.add(event.digest)
            seq = unit.new_id("event")
            if event.time > received + self._tolerance:
                unit.put("deferred", event.time, seq)
                run, job = 0 if event.run else None, 0 if event.job else None
            else:
                run, job = self._applier.apply(event, seq, received)
            base, body = unit.compressor.pack(job or 0, event.kind, seq, event.raw, received)
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
        self._taken += stored
        return stored


def _fault(task: _Task, error: Exception) -> Exception:
    """What a task that cannot be done is told; of events, that they are refused."""
    if not task.events or isinstance(error, HeadwaterError):
        return error
    if len(task.events) == 1:  # of several, each is tried alone next
        _log.error("an event could not be stored", exc_info=error)
    reason = str(error).partition("\n")[0]  # what follows repeats the row
    return EventNotStored(f"{type(error).__name__}: {reason}"[:500])


_Ended = tuple[_Task, Any, Exception | None]


def _finish(ended: list[_Ended]) -> None:
    """Tell everyone who waits, each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Ended]] = {}
    for one in ended:
        task, result, error = one
        if isinstance(task.done, _Waiter):
            by_loop.setdefault(task.done.loop, []).append(one)
        elif not task.done.set_running_or_notify_cancel():
            continue  # nobody waits any more
        elif error is not None:
            task.done.set_exception(error)
        else:
            task.done.set_result(result)
    for loop, some in by_loop.items():
        with contextlib.suppress(RuntimeError):  # a loop that is closed waits no more
            loop.call_soon_threadsafe(_wake, some)


def _wake(ended: list[_Ended]) -> None:
    for task, result, error in ended:
        future = task.done.future if isinstance(task.done, _Waiter) else None
        if future is None or future.done():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
