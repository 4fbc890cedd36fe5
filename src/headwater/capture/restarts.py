"""Remembers the last run of each query, so that a restart can name the one before it."""

from pathlib import Path

from headwater.capture import facets


class Restarts:
    """A small file per query, beside the spool; the query's id lives in its checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def facet(self, query_id: str, run_id: str) -> dict[str, object]:
        """The headwater_query facet of a run that starts now."""
        path = self._folder / query_id
        previous = path.read_text().strip() if path.exists() else None
        self._folder.mkdir(parents=True, exist_ok=True)
        path.write_text(run_id)
        known = {"previousRunId": previous} if previous else {}
        return facets.own_facet("query", queryId=query_id, **known)
