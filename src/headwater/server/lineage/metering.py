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
_encode = msgspec.msgpack.Encoder().encode


def pack(values: Any) -> bytes:
    """Plain values of any kind as bytes, which are counted and compared quickest."""
    return _encode(values)


class MeteredSession:
    """A session that counts what it reads as part of an answer."""

    def __init__(self, session: ReadSession, budget: Budget) -> None:
        self._session, self._budget = session, budget
        self.dialect = session.dialect

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer.

        Raises: AnswerTooLarge, before all are read, and ServerBusy.
        """
        found: list[Row] = []
        cursor = self._session.ask(sql, *params)
        while rows := cursor.fetchmany(_TOGETHER):
            self._budget.read_rows(len(_encode(rows)) + _ROW * len(rows))
            if not found and len(rows) < _TOGETHER:
                return rows
            found += rows
        return found

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for each row."""
        self._session.many(sql, rows)

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""
        self._session.run(sql, *params)
