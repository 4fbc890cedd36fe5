"""The latest entries of the feed in memory: one copy for all clients, up to a number of bytes."""

from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter

from headwater.server.live.items import Item

MOST_BYTES = 4 * 2**20  # several thousand entries
_number = attrgetter("number")


class Window:
    """The entries whose numbers are after `start`, up to `end`."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self.size = most, 0
        self._items: list[Item] = []
        self.start = self.end = -1

    def reset(self, number: int) -> None:
        """Hold nothing, and go on after a number."""
        self._items, self.size = [], 0
        self.start = self.end = number

    def add(self, items: Iterable[Item]) -> None:
        """Take in the next entries, and let go of the oldest that are too many."""
        for item in items:
            self._items.append(item)
            self.size += item.size
            self.end = item.number
        count = 0
        while self.size > self._most:
            self.size -= self._items[count].size
            self.start = self._items[count].number
            count += 1
        del self._items[:count]

    def after(self, number: int, most: int) -> list[Item]:
        """The entries after a number that is not before the start: at most some."""
        at = bisect_right(self._items, number, key=_number)
        return self._items[at : at + most]
