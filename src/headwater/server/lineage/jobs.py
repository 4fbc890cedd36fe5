"""Jobs: their rows with names and parents, and their tags."""

from typing import Any
from uuid import UUID

from headwater.server.lineage.view import StoreView
from headwater.server.store.rows import FacetSources, unpack_sources, version_of

_JOB = (
    "SELECT j.id, n.name, j.name, j.created_at, j.updated_at, j.type, j.labels, j.location, "
    "j.description, pn.name, p.name, j.facets FROM job j JOIN namespace n ON n.id = j.namespace "
    "LEFT JOIN job p ON p.id = j.parent LEFT JOIN namespace pn ON pn.id = p.namespace "
)
_PLAIN_JOB = _JOB.replace("j.facets", "NULL")


class JobRowShown:
    """A job with the names that answers need."""

    __slots__ = (
        "created_at", "description", "facets", "id", "labels", "location", "name", "namespace",
        "parent", "type", "updated_at",
    )  # fmt: skip

    def __init__(self, row: Any) -> None:
        self.id: int = row[0]
        self.namespace: str = row[1]
        self.name: str = row[2]
        self.created_at: int = row[3]
        self.updated_at: int = row[4]
        self.type: str = row[5]
        self.labels: list[str] = row[6].split("\n") if row[6] else []
        self.location: str | None = row[7]
        self.description: str | None = row[8]
        self.parent: tuple[str, str] | None = (row[9], row[10]) if row[10] else None
        self.facets: FacetSources = unpack_sources(row[11])

    @property
    def simple_name(self) -> str:
        """The name without that of the parent before it."""
        if self.parent and self.name.startswith(self.parent[1] + "."):
            return self.name[len(self.parent[1]) + 1 :]
        return self.name

    @property
    def parent_uuid(self) -> str | None:
        """A UUID that stands for the parent."""
        return str(UUID(bytes=version_of(b"job", *self.parent, b""))) if self.parent else None


def job_rows(view: StoreView, ids: list[int]) -> dict[int, JobRowShown]:
    """Jobs by id."""
    rows = view.session.all(f"{_JOB} WHERE j.id = ANY(?)", ids)
    return {row[0]: JobRowShown(row) for row in rows}


def plain_rows(view: StoreView, ids: list[int]) -> dict[int, tuple[Any, ...]]:
    """Jobs by id as `JobRowShown` reads them, without what is known of their facets."""
    return {row[0]: row for row in view.session.all(f"{_PLAIN_JOB} WHERE j.id = ANY(?)", ids)}


def job_tags(view: StoreView, ids: list[int]) -> dict[int, list[str]]:
    """The tags of jobs."""
    rows = view.session.all(
        "SELECT target, tag FROM tagging WHERE kind = 'JOB' AND target = ANY(?) "
        "UNION SELECT target, tag FROM facet_tag WHERE kind = 'JOB' AND target = ANY(?) "
        "ORDER BY 2", ids, ids,
    )  # fmt: skip
    found: dict[int, list[str]] = {}
    for target, tag in rows:
        found.setdefault(target, []).append(tag)
    return found


def job_names(view: StoreView, jobs: set[int]) -> dict[int, tuple[str, str]]:
    """The names of jobs by id."""
    if not jobs:
        return {}
    rows = view.session.all(
        "SELECT j.id, n.name, j.name FROM job j JOIN namespace n ON n.id = j.namespace "
        "WHERE j.id = ANY(?)", [*jobs],
    )  # fmt: skip
    return {row[0]: (row[1], row[2]) for row in rows}
