"""How the server holds memory."""

import ctypes
import gc
import sys
import threading
from functools import cache

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1  # glibc's options of mallopt
_LARGE = 16 * 2**20  # bytes of what has memory of its own, which is given back when it goes
_SPARE = 32 * 2**20  # free bytes at the heap's end; glibc forgets its own figure with the other


def share_heap() -> None:
    """Let all threads share one heap, before there are any.

    A large answer is made in whichever thread is free. With a heap for each, what one has freed
    cannot be used by the next: 30 MB more after a graph of 15,000 nodes. Threads take turns in
    Python anyway. Encoded answers stay out of the heap: with holes of 40 MB in it, it only grows.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_ARENA_MAX, 1)
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_TRIM_THRESHOLD, _SPARE)


holes = threading.Event()  # whether a large answer has left holes in the heap


def give_back() -> None:
    """Give the system back what is free inside the heap, too, and not only at its end."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def close_holes() -> None:
    """Give back what a large answer was made of.

    The interpreter keeps some freed tuples and lists of it for later, each in a block of a
    megabyte that cannot be given back before; a full collection lets go of them.
    """
    holes.clear()
    gc.collect()
    give_back()


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") else None


def settle() -> None:
    """Leave to itself what is there by now, and look for garbage less often.

    A large answer is many objects that soon go: looking for cycles among them took half the
    time of a graph of 3,000 nodes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
