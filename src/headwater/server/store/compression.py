"""Zstandard for rows, safe in any thread.

An object of the `zstandard` package corrupts its output, or crashes the process, when two
threads use it at once: here each thread has its own. One for each call would take 8 µs more.
"""

import threading

import zstandard as zstd


class _Local(threading.local):
    """The compressors, by level, and the decompressor of a thread."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstd.ZstdCompressor] = {}
        self.decompressor = zstd.ZstdDecompressor()


_local = _Local()


def compress(body: bytes, level: int = 3) -> bytes:
    """Compress a body on its own."""
    compressor = _local.compressors.get(level)
    if compressor is None:
        compressor = _local.compressors[level] = zstd.ZstdCompressor(level=level)
    return compressor.compress(body)


def decompress(packed: bytes) -> bytes:
    """A body that was compressed on its own."""
    return _local.decompressor.decompress(packed)


def content_size(packed: bytes) -> int:
    """How many bytes a compressed body has, by the head of its frame."""
    return zstd.frame_content_size(packed)


def decompress_against(base: bytes, packed: list[bytes]) -> list[bytes]:
    """Bodies that were compressed against another one."""
    content = zstd.ZstdCompressionDict(base, dict_type=zstd.DICT_TYPE_RAWCONTENT)
    decompress = zstd.ZstdDecompressor(dict_data=content).decompress
    return [decompress(body) for body in packed]
