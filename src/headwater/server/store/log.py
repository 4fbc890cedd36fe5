"""The event log: bodies compressed against an earlier body of the same job, and back.

Events of one job differ in a run id and a time. Compressed against a base of its kind, a
30 KB event takes about 80 bytes; alone it takes 1.3 KB (docs/adr/0004).
"""

from collections import OrderedDict
from functools import lru_cache

import zstandard as zstd

from headwater.server.store.database import Session

_LEVEL = 1  # against a base, higher levels only cost time
_ROOM = 32 * 2**20  # bytes of bases kept at hand
_LARGEST = 2**18  # a larger body serves no other as base
_WORSE_THAN = 8  # a base is given up when the result is over an eighth of the body

_alone = zstd.ZstdCompressor(level=3)
_opener = zstd.ZstdDecompressor()

BaseKey = tuple[int, str]  # job, event type


class Compressor:
    """Compresses bodies for the writer, which alone adds events."""

    def __init__(self) -> None:
        self._bases: OrderedDict[BaseKey, tuple[int, zstd.ZstdCompressionDict, int]]
        self._bases = OrderedDict()
        self._room = _ROOM

    def pack(self, key: BaseKey, seq: int, body: bytes) -> tuple[int | None, bytes]:
        """The seq of the base, if one was used, and the compressed body."""
        found = self._bases.get(key)
        if found is not None:
            base, content, _ = found
            packed = zstd.ZstdCompressor(level=_LEVEL, dict_data=content).compress(body)
            if len(packed) * _WORSE_THAN <= len(body):
                self._bases.move_to_end(key)
                return base, packed
        if len(body) <= _LARGEST:
            self._keep(key, seq, body)
        return None, _alone.compress(body)

    def _keep(self, key: BaseKey, seq: int, body: bytes) -> None:
        content = zstd.ZstdCompressionDict(body, dict_type=zstd.DICT_TYPE_RAWCONTENT)
        content.precompute_compress(level=_LEVEL)
        if key in self._bases:
            self._room += self._bases.pop(key)[2]
        self._bases[key] = seq, content, len(body)
        self._room -= len(body)
        while self._room < 0:
            self._room += self._bases.popitem(last=False)[1][2]

    def forget(self) -> None:
        """Drop the bases, when what was written may have been undone."""
        self._bases.clear()
        self._room = _ROOM


def read_bodies(session: Session, seqs: list[int]) -> dict[int, bytes]:
    """The bodies of events, as they came."""
    if not seqs:
        return {}
    rows = session.all("SELECT seq, base, body FROM event WHERE seq = ANY(?)", seqs)
    wanted = {base for _, base, _ in rows if base is not None}
    bases = {
        seq: _opener.decompress(body)
        for seq, body in session.all("SELECT seq, body FROM event WHERE seq = ANY(?)", [*wanted])
    }
    return {seq: unpack(packed, bases.get(base)) for seq, base, packed in rows}


def unpack(packed: bytes, base: bytes | None) -> bytes:
    """A body from what `Compressor.pack` made of it."""
    if base is None:
        return _opener.decompress(packed)
    return _against(base).decompress(packed)


@lru_cache(maxsize=256)
def _against(base: bytes) -> zstd.ZstdDecompressor:
    content = zstd.ZstdCompressionDict(base, dict_type=zstd.DICT_TYPE_RAWCONTENT)
    return zstd.ZstdDecompressor(dict_data=content)
