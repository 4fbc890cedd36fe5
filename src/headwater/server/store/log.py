"""The event log: bodies compressed against an earlier body of the same job, and back.

Events of one job differ in a run id and a time. Compressed against a base of its kind, a
30 KB event takes about 80 bytes; alone it takes 1.3 KB (docs/adr/0004).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import zstandard as zstd

from headwater.server.store.compression import compress, decompress, decompress_against
from headwater.server.store.database import Row, Session

PART = 2**20  # bytes of events that are opened at once
_HEAD = 18  # bytes of the longest header of a frame, which tells the size of what is in it
SEQ_AND_HEAD = f"seq, substr(body, 1, {_HEAD})"  # columns of `event` that tell the size of its body
_LEVEL = 1  # against a base, higher levels only cost time
_ROOM = 48 * 2**20  # bytes of bases kept at hand
_TABLE = 2**16  # bytes that a base takes beside two copies of its body
_LARGEST = 2**18  # a larger body serves no other as base
# Microseconds for which a base is used: whatever is compressed against it keeps it in the store.
_LONGEST_USE = 86_400 * 1_000_000
_RECENT = 16  # bases whose compressor is kept: to make one takes as long as to use it
_WORSE_THAN = 8  # a base is given up when the result is over an eighth of the body


class _Base(NamedTuple):
    """A stored body that others are compressed against."""

    seq: int
    content: zstd.ZstdCompressionDict
    size: int
    since: int


@lru_cache(_RECENT)
def _compressor(content: zstd.ZstdCompressionDict) -> zstd.ZstdCompressor:
    return zstd.ZstdCompressor(level=_LEVEL, dict_data=content)


class Compressor:
    """Compresses bodies for the writer, which alone adds events.

    A job's event is compressed against one of its kind, else against any of the job: its
    START and COMPLETE often say the same.
    """

    def __init__(self) -> None:
        self._bases: OrderedDict[int, dict[str, _Base]] = OrderedDict()
        self._room = _ROOM

    def pack(
        self, job: int, kind: str, seq: int, body: bytes, clock: int
    ) -> tuple[int | None, bytes]:
        """The seq of the base, if one was used, and the compressed body."""
        known = self._bases.get(job)
        base = (known.get(kind) or next(iter(known.values()))) if known else None
        if base is not None and clock - base.since < _LONGEST_USE:
            packed = _compressor(base.content).compress(body)
            if len(packed) * _WORSE_THAN <= len(body):
                self._bases.move_to_end(job)
                return base.seq, packed
        if len(body) <= _LARGEST:
            self._keep(job, kind, seq, body, clock)
        return None, compress(body)

    def _keep(self, job: int, kind: str, seq: int, body: bytes, clock: int) -> None:
        content = zstd.ZstdCompressionDict(body, dict_type=zstd.DICT_TYPE_RAWCONTENT)
        content.precompute_compress(level=_LEVEL)
        known = self._bases.setdefault(job, {})
        if kind in known:
            self._room += known[kind].size
        known[kind] = _Base(seq, content, 2 * len(body) + _TABLE, clock)
        self._room -= known[kind].size
        self._bases.move_to_end(job)
        while self._room < 0:
            dropped = self._bases.popitem(last=False)[1]
            self._room += sum(base.size for base in dropped.values())

    def forget(self) -> None:
        """Drop the bases, when what was written may have been undone."""
        self._bases.clear()
        self._room = _ROOM


def body_sizes(session: Session, seqs: list[int]) -> dict[int, int]:
    """How many bytes the bodies of events have, of which only the first few are read."""
    return sizes_in(session.all(f"SELECT {SEQ_AND_HEAD} FROM event WHERE seq = ANY(?)", seqs))


def sizes_in(rows: list[Row]) -> dict[int, int]:
    """How many bytes bodies have, by rows of `SEQ_AND_HEAD`."""
    return {seq: zstd.frame_content_size(bytes(head)) for seq, head in rows}


def in_parts(seqs: list[int], sizes: dict[int, int], most: int) -> Iterator[list[int]]:
    """Events in order, in parts of so many bytes or of one event."""
    part: list[int] = []
    size = 0
    for seq in seqs:
        if part and size + sizes.get(seq, 0) > most:
            yield part
            part, size = [], 0
        part.append(seq)
        size += sizes.get(seq, 0)
    if part:
        yield part


def each_body(
    session: Session, seqs: list[int], allows: Callable[[int], bool] = lambda _: True
) -> Iterator[tuple[int, bytes | None]]:
    """Events in order with their bodies, of which about a megabyte is held at once.

    The body is None once `allows` has refused the bytes of the next ones; events that were deleted
    are left out.
    """
    sizes = body_sizes(session, seqs)
    for part in in_parts([seq for seq in seqs if seq in sizes], sizes, PART):
        if not allows(sum(sizes[seq] for seq in part)):
            yield from ((seq, None) for seq in part)
            continue
        bodies = read_bodies(session, part)
        yield from ((seq, bodies.pop(seq)) for seq in part if seq in bodies)


def read_bodies(session: Session, seqs: list[int]) -> dict[int, bytes]:
    """The bodies of events, as they came."""
    if not seqs:
        return {}
    rows = session.all("SELECT seq, base, body FROM event WHERE seq = ANY(?)", seqs)
    by_base: dict[int, list[tuple[int, bytes]]] = {}
    bodies: dict[int, bytes] = {}
    for seq, base, packed in rows:
        if base is None:
            bodies[seq] = decompress(packed)
        else:
            by_base.setdefault(base, []).append((seq, packed))
    sql = "SELECT seq, body FROM event WHERE seq = ANY(?)"
    for base, packed in session.all(sql, [*by_base]):
        opened = decompress_against(decompress(packed), [body for _, body in by_base[base]])
        bodies.update(zip((seq for seq, _ in by_base[base]), opened, strict=True))
    return bodies
