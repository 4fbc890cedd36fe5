"""The one writer: takes events and other changes from any thread, and commits them in groups.

A caller's future is done when what it gave is on disk. What arrives while a commit is under
way waits for the next, so that concurrent requests share commits without any delay set.

A commit fails for one of two reasons. In an outage (the store is locked, full, read-only, gone)
all of it fails at once. Otherwise one of the tasks is at fault: it is found by halves, and fails
alone.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import Any

from headwater.errors import EventNotStored, HeadwaterError, StoreError, WriteFailed
from headwater.openlineage.events import Event
from headwater.openlineage.times import now
from headwater.server.store.aliases import AliasRules, apply_rules
from headwater.server.store.apply import read_ahead, settle, store_events, write_feed
from headwater.server.store.commit import Commit
from headwater.server.store.database import Database
from headwater.server.store.migrate import check_version
from headwater.server.store.row_cache import RowCache
from headwater.server.store.tasks import Task, Waiter, finish

_MOST = 256  # tasks of one commit
_GROWN = 500  # events after which the store is tended; then at each doubling
_IDLE = 2.0  # seconds without anything to write, after which the store may put things away
# What a probe writes after an outage: entries of `deferred` for a time that never comes.
_NEVER_DUE = 2**62
_FILLER = 4000  # entries, about 64 KiB
_ADD_FILLER = "INSERT INTO deferred (time, seq) VALUES (?, ?)"
_REMOVE_FILLER = "DELETE FROM deferred WHERE time = ?"
_log = logging.getLogger(__name__)


class Writer:
    """A thread that owns the writing side of a database."""

    def __init__(self, database: Database, rules: AliasRules, tolerance: int) -> None:
        self._database = database
        self._rules, self._tolerance = rules, tolerance
        self._cache, self._instance = RowCache(), database.instance
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)
        self._closed = False
        self.committed: Callable[[], None] | None = None  # told when those who watch have news
        self.rested: Callable[[], None] | None = None  # told when nothing was written for a while
        self.failure: StoreError | None = None  # why the last commit failed, in an outage
        self.failed_at = 0  # when a write last failed in an outage, by the clock of events
        self.committed_at = monotonic()
        self._has_news = False  # whether the last commit changed what someone watches
        self._taken, self._tend_at = 0, _GROWN  # events since the start, and when to tend
        self._thread.start()
        self.submit(lambda commit: apply_rules(commit, rules)).result()

    def ingest(self, events: list[Event]) -> "Future[int]":
        """Store events, all in one commit; the future tells how many were new."""
        return self.submit(lambda commit: self._store(commit, events), events)

    async def ingest_soon(self, events: list[Event]) -> int:
        """Store events, and go on when they are on disk; tell how many were new."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        work = partial(self._store, events=events)
        self._put(Task(work, Waiter(loop, future), events))
        return await future

    def change(self, work: Callable[[Commit], Any]) -> "Future[Any]":
        """Run some other change in a transaction of the writer, after the events before it."""
        return self.submit(lambda commit: _change(commit, work))

    def submit(
        self, work: Callable[[Commit], Any], events: list[Event] | None = None
    ) -> "Future[Any]":
        """Queue a piece of work."""
        done: Future[Any] = Future()
        self._put(Task(work, done, events or []))
        return done

    def _put(self, task: Task) -> None:
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

    def _commit(self, batch: list[Task], *, is_retry: bool = False) -> None:
        try:
            results = self._transact(batch)
        except Exception as error:
            self._cache = RowCache()  # what is in it may not be in the store
            self._note(self._outage(error))
            if self.failure is not None:
                if self._recover() and not is_retry and all(t.events for t in batch):
                    # The connection was lost, or a server that stood still held the lock. Whether
                    # or not the commit was done, events may be stored again.
                    self._commit(batch, is_retry=True)
                    return
                _log.warning("%s", self.failure.message)
                finish([(task, None, self.failure) for task in batch])
            elif len(batch) == 1:
                finish([(batch[0], None, _fault(batch[0], error))])
            else:
                half = len(batch) // 2
                self._commit(batch[:half])
                self._commit(batch[half:])
            return
        self.failure, self.committed_at = None, monotonic()
        finish([(task, result, None) for task, result in zip(batch, results, strict=True)])
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

    def _transact(self, batch: list[Task]) -> list[Any]:
        with self._database.writing() as session:
            if self._database.instance != self._instance:
                self._cache, self._instance = RowCache(), self._database.instance
            commit = Commit(session, self._cache, self._rules.resolve, self._tolerance)
            commit.begin(self._database.name)
            read_ahead(commit, [event for task in batch for event in task.events])
            results = [task.work(commit) for task in batch]
            settle(commit)
            self._has_news = write_feed(commit)
        return results

    def _store(self, commit: Commit, events: list[Event]) -> int:
        stored = store_events(commit, events)
        self._taken += stored
        return stored

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


def _change(commit: Commit, work: Callable[[Commit], Any]) -> Any:
    settle(commit)
    return work(commit)


def _fault(task: Task, error: Exception) -> Exception:
    """What a task that cannot be done is told; of events, that they are refused."""
    if not task.events or isinstance(error, HeadwaterError):
        return error
    if len(task.events) == 1:  # of several, each is tried alone next
        _log.error("an event could not be stored", exc_info=error)
    reason = str(error).partition("\n")[0]  # what follows repeats the row
    return EventNotStored(f"{type(error).__name__}: {reason}"[:500])
