"""The feed of changes: what each commit changed, in the order of commits, for those who watch.

A row holds what one commit changed, up to a size, so that the price of a row is shared; its
entries are numbered on through all rows. Writing goes one at a time over all servers, so that who
has read up to a number has missed nothing before it. What a producer made too long is cut or left
out of an entry, which then says so.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headwater.openlineage.events import Event
from headwater.openlineage.facets import is_absent, read_progress, snapshot_ids, text_of
from headwater.openlineage.failures import ERRORS, checks_reason, failure_reason
from headwater.openlineage.names import DatasetName, JobName
from headwater.openlineage.quality import ASSERTIONS, read_checks
from headwater.server.store.compression import compress, content_size, decompress
from headwater.server.store.database import Session
from headwater.server.store.graph_change import (
    GraphChange,
    Node,
    fitting,
    not_told_apart,
    told_apart,
)

EDGE_ADDED, EDGE_REMOVED = "EDGE_ADDED", "EDGE_REMOVED"
SCHEMA_CHANGED, COLUMNS_CHANGED = "SCHEMA_CHANGED", "COLUMNS_CHANGED"
NAMES_JOINED = "NAMES_JOINED"
MOST_ERROR = 2000  # characters of why a run failed
MOST_WATERMARK = 100  # characters; one is a moment
READ = 512 * 2**10  # bytes that one read of the feed holds

_SHORT = 512  # bytes that are not worth compressing
_LEVEL = 1
_ENTRY = 1000  # bytes that an entry takes beside its texts, once it is written for clients
_PART = 300  # bytes that a part of a change takes beside its names
_ROW = 256 * 2**10  # bytes of entries in a row
_PAGE = 500  # rows that are looked at in one read
_PACKED = 2**20  # bytes of packed rows in one read
_OPENED = 16 * 2**20  # bytes of an unpacked row; only earlier versions wrote larger ones


class RunChange(Struct, array_like=True, tag="r", frozen=True):
    """A run is in another state."""

    run: bytes
    namespace: str
    name: str
    state: str
    at: int
    error: str | None
    is_cut: bool = False  # whether the error is longer


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
    is_cut: bool = False  # whether the watermark was too long to be told


class Lost(Struct, frozen=True):
    """Entries that take too much memory to be read; whoever watches has to reload."""

    size: int


Entry = RunChange | Progress | GraphChange
Noted = tuple[int, tuple[str, ...]]  # when the graph changed last around a node, and how
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[Entry]).decode
_MAGIC = b"\x28\xb5\x2f\xfd"


class Numbered(NamedTuple):
    """An entry with its number."""

    number: int
    entry: Entry | Lost


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
        self.jobs: dict[int, Noted] = {}  # around which the graph changed
        self.datasets: dict[int, Noted] = {}
        self._at = 0

    def run(self, run: bytes, job: tuple[str, str], state: str, event: Event) -> None:
        """Note that a run is in another state."""
        error = None
        if state in ("FAILED", "ABORTED"):
            error = _error(event) or text_of(event.run_facets, "headwater_lapse", "reason")
        self.entries.append(_cut(RunChange(run, *job, state, event.time, error or None)))

    def parent(self, run: bytes, job: tuple[str, str], state: str, at: int) -> None:
        """Note that a run which only its children speak for is in another state."""
        self.entries.append(RunChange(run, *job, state, at, None))

    def progress(self, run: bytes, job: tuple[str, str], event: Event) -> list[str]:
        """Note how far a run is; give the Iceberg snapshots that it tells of."""
        raw = event.run_facets.get("headwater_progress")
        told = None if raw is None or is_absent(raw) else read_progress(raw)
        if told is None:
            return []
        lags = [source.lag for source in told.sources or () if source.lag is not None]
        rate = told.processed_rows_per_second or told.input_rows_per_second
        lag = max(lags, default=None)
        entry = Progress(run, *job, event.time, told.rows, rate, lag, told.watermark)
        self.entries.append(_cut(entry))
        return [*dict.fromkeys(snapshot_ids(told))]

    def graph(self, kind: str, at: int, *, job: int = 0, dataset: int = 0) -> None:
        """Note that the graph changed around a job, a dataset or both."""
        self._kinds[kind] = None
        self._at = max(self._at, at)
        if job:
            self.jobs[job] = _also(self.jobs.get(job), kind, at)
        if dataset:
            self.datasets[dataset] = _also(self.datasets.get(dataset), kind, at)

    def finish(
        self,
        jobs: dict[int, JobName],
        datasets: dict[int, DatasetName],
        others: dict[int, list[DatasetName]] | None,
    ) -> list[Entry]:
        """All entries, those of the graph last, with the names of its jobs and datasets.

        `others` has the names of datasets in other namespaces, and is None if they are too many.
        """
        if not self._kinds:
            return self.entries
        shown = sorted({*map(str, jobs.values()), *map(str, datasets.values())})
        nodes = fitting(shown)
        whole = GraphChange(self._at, [*self._kinds], nodes, len(nodes) < len(shown))
        if others is None:
            return [*self.entries, not_told_apart(whole)]
        return [*self.entries, *told_apart(whole, self._nodes(jobs, datasets, others))]

    def _nodes(
        self,
        jobs: dict[int, JobName],
        datasets: dict[int, DatasetName],
        others: dict[int, list[DatasetName]],
    ) -> Iterator[Node]:
        """All nodes around which the graph changed: of datasets, by a name in each namespace."""
        for number, job in jobs.items():
            yield Node(job.namespace, str(job), *self.jobs[number])
        noted: dict[DatasetName, Noted] = {}
        for number, dataset in datasets.items():
            for name in (dataset, *others.get(number, ())):
                at, kinds = self.datasets[number]
                for kind in kinds:
                    noted[name] = _also(noted.get(name), kind, at)
        for name, told in noted.items():
            yield Node(name.namespace, str(name), *told)


def _also(noted: Noted | None, kind: str, at: int) -> Noted:
    """What is noted of a node, and one more change."""
    if noted is None:
        return at, (kind,)
    since, kinds = noted
    return max(since, at), kinds if kind in kinds else tuple(sorted((*kinds, kind)))


def _cut(entry: Entry) -> Entry:
    """An entry without what is too long in it."""
    if isinstance(entry, RunChange):
        if entry.error is None or len(entry.error) <= MOST_ERROR:
            return entry
        return replace(entry, error=entry.error[:MOST_ERROR], is_cut=True)
    if isinstance(entry, Progress):
        if entry.watermark is None or len(entry.watermark) <= MOST_WATERMARK:
            return entry
        return replace(entry, watermark=None, is_cut=True)
    nodes = fitting(entry.nodes)
    return entry if len(nodes) == len(entry.nodes) else replace(entry, nodes=nodes, is_cut=True)


def weight(entry: Entry | Lost) -> int:
    """About how many bytes an entry takes, once it is written for clients."""
    if isinstance(entry, Lost):
        return _ENTRY
    if isinstance(entry, GraphChange):
        names = sum(map(len, entry.nodes))
        parts = entry.parts
        apart = names if parts is None else sum(_PART + part.size for part in parts)
        return _ENTRY + names + apart
    error = entry.error if isinstance(entry, RunChange) else None
    return _ENTRY + 3 * (len(entry.namespace) + len(entry.name)) + len(error or "")


def pack_rows(entries: Iterable[Entry], first: int) -> Iterator[tuple[int, bytes]]:
    """The rows of the entries of a commit, which are numbered from the first on."""
    part: list[Entry] = []
    number, size = first, 0
    for entry in entries:
        if part and size + weight(entry) > _ROW:
            yield number - 1, _packed(part)
            part, size = [], 0
        part.append(entry)
        number, size = number + 1, size + weight(entry)
    if part:
        yield number - 1, _packed(part)


def _packed(entries: list[Entry]) -> bytes:
    body = _pack(entries)
    return body if len(body) < _SHORT else compress(body, _LEVEL)


def read_feed(session: Session, after: int, room: int = READ) -> list[Numbered]:
    """Entries after a number, oldest first: as many as fit into so many bytes, or one."""
    found: list[Numbered] = []
    for numbered in _entries(session, after, _last_of_page(session, after)):
        room -= weight(numbered.entry)
        if found and room < 0:
            break
        found.append(numbered)
    return found


def _last_of_page(session: Session, after: int) -> int:
    """The last row of those that are read together; their bodies are looked at by size first."""
    sizes = session.all(
        "SELECT id, length(body) FROM feed WHERE id > ? ORDER BY id LIMIT ?", after, _PAGE
    )
    last, left = after, _PACKED
    for number, size in sizes:
        left -= size
        if last > after and left < 0:
            break
        last = number
    return last


def _entries(session: Session, after: int, until: int) -> Iterator[Numbered]:
    if until == after:
        return
    rows = session.all(
        "SELECT id, body FROM feed WHERE id > ? AND id <= ? ORDER BY id", after, until
    )
    for last, body in rows:
        yield from (found for found in _numbered(last, body) if found.number > after)


def _numbered(last: int, body: bytes) -> Iterator[Numbered]:
    is_packed = body[:4] == _MAGIC
    if is_packed and (size := content_size(body)) > _OPENED:
        yield Numbered(last, Lost(size))
        return
    entries = _unpack(decompress(body) if is_packed else body)
    first = last - len(entries) + 1
    yield from (Numbered(first + i, _cut(entry)) for i, entry in enumerate(entries))


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
