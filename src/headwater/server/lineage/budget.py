"""How much one answer may hold and read, and how many large answers are made at a time."""

import threading

from headwater.errors import AnswerTooLarge, ServerBusy
from headwater.server.memory import holes

FACETS = 8 * 2**20  # bytes of facets in an answer: those of the largest event fit
COLUMNS = 32 * 2**20  # bytes of columns or changes in an answer; a column takes about 80
_CONTENTS = 16 * 2**20  # bytes of schemas and mappings that are decoded, to ten times as much
_EVENTS = 512 * 2**20  # bytes of events that are opened, which takes two seconds
_ROWS = 64 * 2**20  # bytes of rows that are read, names included
_VALUES = 32_000_000  # values of reports that are decoded, one report after the other: six seconds
_VALUE = 200  # bytes that a value of a report takes, with what is worked out from it
_WIDEST = 4  # bytes of a character
_KEPT = 128 * 2**20  # bytes of what an answer keeps of the reports it has decoded
_SMALL = 2 * 2**20  # bytes of an answer that is made beside others
_VAST = 16 * 2**20  # bytes of an answer that leaves holes in the heap
_PATIENCE = 60.0  # seconds to wait for another large answer


class Budget:
    """What one answer may still take; a large one takes turns with other large ones."""

    def __init__(self, turn: threading.Lock) -> None:
        self._turn, self._has_turn = turn, False
        self._facets, self._columns = FACETS, COLUMNS
        self._contents, self._events = _CONTENTS, _EVENTS
        self._rows, self._kept = _ROWS, _KEPT
        self._values, self._largest = _VALUES, 0
        self._size = 0

    def take_facets(self, size: int) -> bool:
        """Whether facets of so many bytes fit into the answer; then they are part of it."""
        if size > self._facets:
            return False
        self._facets -= size
        self.grow(size)
        return True

    def open_events(self, size: int) -> bool:
        """Whether so many more bytes of events may be opened."""
        self._events -= size
        return self._events >= 0

    def take_columns(self, size: int) -> None:
        """Make columns or changes part of the answer.

        Raises: AnswerTooLarge. ServerBusy.
        """
        self._columns = self._left(self._columns, size)

    def decode_contents(self, size: int) -> None:
        """Decode so many bytes of schemas or column lineage.

        Raises: AnswerTooLarge. ServerBusy.
        """
        self._contents = self._left(self._contents, size)

    def decode_report(self, size: int, values: int) -> None:
        """Decode a report of so many bytes and values, which is let go before the next one.

        Raises: AnswerTooLarge. ServerBusy.
        """
        self._values -= values
        if self._values < 0:
            raise AnswerTooLarge
        needed = _WIDEST * size + _VALUE * values
        if needed > self._largest:
            self.grow(needed - self._largest)
            self._largest = needed

    def keep_reported(self, size: int) -> None:
        """Keep so many bytes of what reports tell.

        Raises: AnswerTooLarge. ServerBusy.
        """
        self._kept = self._left(self._kept, size)

    def read_rows(self, size: int) -> None:
        """Read so many bytes of rows.

        Raises: AnswerTooLarge. ServerBusy.
        """
        self._rows -= size  # here and not by another call: it is called for every statement
        if self._rows < 0:
            raise AnswerTooLarge
        self._size += size
        if self._size > _SMALL and not self._has_turn:
            self._wait()

    def _left(self, room: int, size: int) -> int:
        if size > room:
            raise AnswerTooLarge
        self.grow(size)
        return room - size

    def grow(self, size: int) -> None:
        """Make so many bytes part of the answer, and wait for its turn once it is large.

        Raises: ServerBusy.
        """
        self._size += size
        if self._size > _SMALL and not self._has_turn:
            self._wait()

    def _wait(self) -> None:
        if not self._turn.acquire(timeout=_PATIENCE):
            raise ServerBusy
        self._has_turn = True

    def close(self) -> None:
        """Let the next large answer be made."""
        if self._has_turn:
            self._has_turn = False
            if self._size > _VAST:
                holes.set()
            self._turn.release()
