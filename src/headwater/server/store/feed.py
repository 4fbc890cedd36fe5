"""The feed of changes: what each commit changed, in the order of commits, for those who watch.

A row holds all that one commit changed, so that the price of a row is shared; its entries are
numbered on through all rows. Writing goes one at a time over all servers, so that who has
read up to a number has missed nothing before it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from headwater.openlineage.events import Event
from headwater.openlineage.facets import ProgressFacet, read_leniently, text_of
from headwater.openlineage.failures import ERRORS, checks_reason, failure_reason
from headwater.openlineage.names import DatasetName, JobName
from headwater.openlineage.quality import ASSERTIONS, read_checks
from headwater.server.store.compression import compress, decompress
from headwater.server.store.database import Session

EDGE_ADDED, EDGE_REMOVED = "EDGE_ADDED", "EDGE_REMOVED"
SCHEMA_CHANGED, COLUMNS_CHANGED = "SCHEMA_CHANGED", "COLUMNS_CHANGED"
NAMES_JOINED = "NAMES_JOINED"
MOST_NODES = 1000  # told of one commit; a load of a whole store changes everything
MOST_ERROR = 2000  # characters of why a run failed

_LONGEST_ID = 128  # characters of a snapshot's id; Iceberg's are numbers
_SHORT = 512  # bytes that are not worth compressing
_LEVEL = 1


class RunChange(Struct, array_like=True, tag="r", frozen=True):
    """A run is in another state."""

    run: bytes
    namespace: str
    name: str
    state: str
    at: int
    error: str | None


class Progress(Struct, array_like=True, tag="p", frozen=True):
    """A streaming run tells how far it is."""

    run: bytes
    namespace: str
    name: str
    at: int
    rows: int
    rate: float | None
    lag: float | None
    watermark: str | None


class GraphChange(Struct, array_like=True, tag="g", frozen=True):
    """The graph changed around some nodes."""

    at: int
    kinds: list[str]
    nodes: list[str]


Entry = RunChange | Progress | GraphChange
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[Entry]).decode
_MAGIC = b"\x28\xb5\x2f\xfd"


class Numbered(NamedTuple):
    """An entry with its number."""

    number: int
    entry: Entry


def _error(event: Event) -> str | None:
    """Why a run failed: an error message, or the reason where only the stack trace tells it."""
    for facet in ERRORS:
        message = text_of(event.run_facets, facet, "message")
        if message is not None:
            stack = text_of(event.run_facets, facet, "stackTrace") or ""
            reason = failure_reason(message, stack)
            return message if reason in message else reason
    checks = (read_checks(part.own.get(ASSERTIONS)) for part in event.inputs)
    failed = [(one.assertion, one.column) for some in checks for one in some if not one.success]
    return checks_reason(failed) or None


class Feed:
    """What the commit under way has changed."""

    __slots__ = ("_at", "_kinds", "datasets", "entries", "jobs")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._kinds: dict[str, None] = {}
        self.jobs: set[int] = set()  # around which the graph changed
        self.datasets: set[int] = set()
        self._at = 0

    def run(self, run: bytes, job: tuple[str, str], state: str, event: Event) -> None:
        """Note that a run is in another state."""
        error = None
        if state in ("FAILED", "ABORTED"):
            error = _error(event) or text_of(event.run_facets, "headwater_lapse", "reason")
            error = error and error[:MOST_ERROR]
        self.entries.append(RunChange(run, *job, state, event.time, error))

    def parent(self, run: bytes, job: tuple[str, str], state: str, at: int) -> None:
        """Note that a run which only its children speak for is in another state."""
        self.entries.append(RunChange(run, *job, state, at, None))

    def progress(self, run: bytes, job: tuple[str, str], event: Event) -> list[str]:
        """Note how far a run is; give the Iceberg snapshots that it tells of."""
        told: ProgressFacet | None = read_leniently(event.run_facets, "headwater_progress")
        if told is None:
            return []
        lags = [source.lag for source in told.sources or () if source.lag is not None]
        rate = told.processed_rows_per_second or told.input_rows_per_second
        lag = max(lags, default=None)
        self.entries.append(Progress(run, *job, event.time, told.rows, rate, lag, told.watermark))
        return [*dict.fromkeys(id_ for id_ in told.snapshots or () if len(id_) <= _LONGEST_ID)]

    def graph(self, kind: str, at: int, *, job: int = 0, dataset: int = 0) -> None:
        """Note that the graph changed around a job, a dataset or both."""
        self._kinds[kind] = None
        self._at = max(self._at, at)
        if job:
            self.jobs.add(job)
        if dataset:
            self.datasets.add(dataset)

    def finish(self, jobs: list[tuple[str, str]], datasets: list[tuple[str, str]]) -> list[Entry]:
        """All entries, that of the graph last, with the names of its jobs and datasets."""
        if not self._kinds:
            return self.entries
        nodes = {str(JobName(*name)) for name in jobs}
        nodes |= {str(DatasetName(*name)) for name in datasets}
        kinds, told = [*self._kinds], sorted(nodes)[:MOST_NODES]
        return [*self.entries, GraphChange(self._at, kinds, told)]


def pack_entries(entries: list[Entry]) -> bytes:
    """Entries as a row keeps them."""
    body = _pack(entries)
    return body if len(body) < _SHORT else compress(body, _LEVEL)


def read_feed(session: Session, after: int, most: int = 500) -> list[Numbered]:
    """Entries after a number, oldest first, of at most some commits."""
    rows = session.all("SELECT id, body FROM feed WHERE id > ? ORDER BY id LIMIT ?", after, most)
    return [found for row in rows for found in _numbered(row[0], row[1]) if found.number > after]


def _numbered(last: int, body: bytes) -> Iterator[Numbered]:
    entries = _unpack(decompress(body) if body[:4] == _MAGIC else body)
    return (Numbered(last - len(entries) + 1 + i, entry) for i, entry in enumerate(entries))


def feed_ends(session: Session) -> tuple[int, int]:
    """The numbers of the first entry that is still held, and of the last; 1 and 0 if none is."""
    rows = session.all("SELECT id, body FROM feed ORDER BY id LIMIT 1")
    if not rows:
        return 1, 0
    last = session.all("SELECT max(id) FROM feed")[0][0]
    return next(_numbered(*rows[0])).number, last


def prune_feed(session: Session, keep: int) -> None:
    """Let go of all but the last entries."""
    session.run("DELETE FROM feed WHERE id <= (SELECT max(id) FROM feed) - ?", keep)
