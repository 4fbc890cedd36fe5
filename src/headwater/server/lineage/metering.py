"""Measures what a question reads, so that no answer holds more than its budget allows.

Every row that a view reads is counted here: names, facets, times, whatever a statement asks for.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.server.lineage.budget import Budget
from headwater.server.store.database import ReadSession, Row

_ROW = 64  # bytes that a row takes beside its values
_TOGETHER = 1024  # rows that are read at a time
_UNCOUNTED = 2**16  # bytes of small answers of statements that are counted together
_encode = msgspec.msgpack.Encoder().encode


def pack(values: Any) -> bytes:
    """Plain values of any kind as bytes, which are counted and compared quickest."""
    return _encode(values)


class MeteredSession:
    """A session that counts what it reads as part of an answer."""

    def __init__(self, session: ReadSession, budget: Budget) -> None:
        self._ask, self._session, self._budget = session.ask, session, budget
        self._size = 0  # bytes that the budget does not know of yet: most statements read few
        self.dialect = session.dialect

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer.

        Raises: AnswerTooLarge, before all are read, and ServerBusy.
        """
        cursor = self._ask(sql, *params)
        rows = cursor.fetchmany(_TOGETHER)
        if not rows:
            return rows
        found: list[Row] = rows
        while True:
            self._size += len(_encode(rows)) + _ROW * len(rows)
            if self._size > _UNCOUNTED:
                self._budget.read_rows(self._size)
                self._size = 0
            if len(rows) < _TOGETHER:
                return found
            rows = cursor.fetchmany(_TOGETHER)
            found += rows

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for each row."""
        self._session.many(sql, rows)

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""
        self._session.run(sql, *params)
