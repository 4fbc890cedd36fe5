"""The store: one database, its writer and its readers."""

import logging
import threading
from concurrent.futures import Future
from time import monotonic

import msgspec

from headwater.errors import EventNotStored, EventRejected, StoreError, TakesLong
from headwater.openlineage.events import Event
from headwater.openlineage.reading import EventReader
from headwater.openlineage.sizes import MOST_BYTES
from headwater.openlineage.times import format_moment, now
from headwater.server.ingest.scrubbing import Scrubber
from headwater.server.store.aliases import AliasRules
from headwater.server.store.apply import apply_deferred
from headwater.server.store.database import Database, open_database
from headwater.server.store.log import read_bodies
from headwater.server.store.migrate import migrate
from headwater.server.store.run_owners import covered_by
from headwater.server.store.writer import Writer

_RECENT = 5.0  # seconds for which a commit proves that the store takes writes
_log = logging.getLogger(__name__)


class Store:
    """Durable lineage at an address."""

    def __init__(
        self,
        url: str,
        rules: AliasRules,
        scrubber: Scrubber | None = None,
        tolerance: float = 3600,
        max_event: int = MOST_BYTES,
    ) -> None:
        self.database: Database = open_database(url)
        migrate(self.database)
        self.rules = rules
        self._tolerance = int(tolerance * 1_000_000)
        self.writer = Writer(self.database, rules, self._tolerance)
        self.scrubber = scrubber or Scrubber()
        self._reader = EventReader(self.scrubber.scrub, max_event)
        self._probing = threading.Lock()

    def read(self, raw: bytes, searched: int | None = None, *, is_clean: bool = False) -> Event:
        """Read and check one event, without the secrets in it; one that is clean has none.

        Raises: EventRejected. TakesLong, when more than `searched` bytes would have to be
            searched for secrets.
        """
        try:
            return self._reader.read(raw, searched, is_clean=is_clean)
        except (EventRejected, TakesLong):
            raise
        except Exception as error:
            # A fault of ours, for which neither the producer nor its other events should pay.
            _log.exception("an event could not be read")
            raise EventNotStored(f"{type(error).__name__}: {error}"[:500]) from None

    def ingest(self, events: list[Event]) -> "Future[int]":
        """Store events; the future is done when they are on disk."""
        return self.writer.ingest(events)

    def ingest_each(self, events: list[Event]) -> list[EventRejected | None]:
        """Store events and wait until they are on disk; tell of each why it was refused, if so.

        Raises: StoreError, when the store takes no writes; some may be stored by then.
        """
        if not events:
            return []
        try:
            self.ingest(events).result()
        except EventRejected as error:
            if len(events) == 1:
                return [error]
            half = len(events) // 2
            return self.ingest_each(events[:half]) + self.ingest_each(events[half:])
        return [None] * len(events)

    def write_failure(self) -> StoreError | None:
        """Why the store takes no writes; None while it does."""
        writer = self.writer
        if writer.failure is None and monotonic() - writer.committed_at < _RECENT:
            return None
        if not self._probing.acquire(blocking=False):
            return writer.failure
        try:
            return writer.probe()
        finally:
            self._probing.release()

    async def ingest_soon(self, events: list[Event]) -> int:
        """Store events, and go on when they are on disk."""
        return await self.writer.ingest_soon(events)

    def apply_deferred(self) -> int:
        """Apply events that were dated in the future and whose time has come; tell how many."""
        with self.database.reading() as session:
            due = session.all(_DUE_EVENTS, now() + self._tolerance)
        return sum(self._apply(*row) for row in due)

    def _apply(self, time: int, seq: int, covered: str | None) -> bool:
        with self.database.reading() as session:
            body = read_bodies(session, [seq])[seq]
        try:
            event = _limited(self.read(body), self.rules, covered)
            change = self.writer.submit(
                lambda commit: apply_deferred(commit, seq, event), [event]
            )  # fmt: skip
            return bool(change.result())
        except EventRejected as error:
            # Another version accepted it. It stays among the events, and decides nothing.
            _log.warning("event %d, dated %s, is not applied: %s", seq, format_moment(time), error)
            self.writer.change(
                lambda commit: commit.session.run(
                    "DELETE FROM deferred WHERE time = ? AND seq = ?", time, seq
                )
            ).result()
            return False

    def close(self) -> None:
        """Finish what was accepted and close the database."""
        self.writer.close()
        self.database.close()


def _limited(event: Event, rules: AliasRules, covered: str | None) -> Event:
    """A deferred event that does what its key may do, or else its own namespace."""
    if covered is not None:
        prefixes = covered_by(covered)
        return msgspec.structs.replace(event, restores=prefixes, runs_of=prefixes)
    own = event.dataset.namespace if event.dataset else event.job[0] if event.job else ""
    return msgspec.structs.replace(event, restores=(rules.resolve(own),))


_DUE_EVENTS = (
    "SELECT time, seq, namespaces FROM deferred WHERE time <= ? ORDER BY time, seq LIMIT 500"
)
