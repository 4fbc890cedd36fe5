"""Remembers the last run of each query, so that a restart can name the one before it."""

import contextlib
from pathlib import Path

from headwater.capture import facets
from headwater.capture.folders import make_private, write_private


class Restarts:
    """A small file per query, beside the spool; the query's id lives in its checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def facet(self, query_id: str, run_id: str) -> dict[str, object]:
        """The headwater_query facet of a run that starts now."""
        path = self._folder / query_id
        previous = None
        with contextlib.suppress(OSError, ValueError):
            previous = path.read_text().strip() if path.exists() else None
        with contextlib.suppress(OSError):  # a start is told all the same
            make_private(self._folder)
            write_private(path, run_id.encode())
        known = {"previousRunId": previous} if previous else {}
        return facets.own_facet("query", queryId=query_id, **known)
