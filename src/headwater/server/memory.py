"""How the server holds memory."""

import ctypes
import gc
import sys

_ARENA_MAX = -8  # glibc's M_ARENA_MAX


def share_heap() -> None:
    """Let all threads share one heap, before there are any.

    A large answer is made in whichever thread is free. With a heap for each, what one has freed
    cannot be used by the next: 30 MB more after a graph of 15,000 nodes. Threads take turns in
    Python anyway.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Give the system back what is free inside the heap, too, and not only at its end."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


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
