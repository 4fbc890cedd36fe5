"""Things that never change, kept at hand by all requests within a number of bytes."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

KEPT = 65_536  # bytes of one thing, unless another bound is given
K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Some things by what they are made from; the oldest make room.

    `size` tells about how many bytes a thing takes with its key; one that takes more than `most`
    is not kept.
    """

    def __init__(self, room: int, size: Callable[[K, V], int], most: int = KEPT) -> None:
        self._room, self._size_of, self._most = room, size, most
        self._items: dict[K, tuple[V, int]] = {}
        self._size, self._lock = 0, Lock()

    def get(self, key: K) -> V | None:
        """The thing with a key, if it is at hand."""
        found = self._items.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V) -> V:
        """Keep a thing."""
        size = self._size_of(key, value)
        if size > self._most:
            return value
        with self._lock:
            self._drop(key)
            self._items[key] = value, size
            self._size += size
            while self._size > self._room:
                self._drop(next(iter(self._items)))
        return value

    def _drop(self, key: K) -> None:
        dropped = self._items.pop(key, None)
        self._size -= dropped[1] if dropped else 0

    @property
    def size(self) -> int:
        """About how many bytes all things take."""
        return self._size

    def take(self, keys: set[K], load: Callable[[list[K]], dict[K, V]]) -> dict[K, V]:
        """The things with these keys, loading those that are not at hand."""
        items, taken, missing = self._items, dict[K, V](), list[K]()
        for key in keys:
            found = items.get(key)
            if found is None:
                missing.append(key)
            else:
                taken[key] = found[0]
        for key, value in (load(missing) if missing else {}).items():
            taken[key] = self.put(key, value)
        return taken
