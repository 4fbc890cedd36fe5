"""What was searched for, and what a name means."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from headwater.api.base import Answer, Name


class SearchResult(Answer):
    """A job, dataset, column or run that was searched for; `name` is a run's job.

    Marquez's search leaves out the state, and the field of what is no column.
    """

    type: str
    name: str
    updated_at: datetime
    namespace: str
    node_id: str
    field: str | UnsetType | None = UNSET
    state: str | UnsetType | None = UNSET


class SearchPage(Answer):
    """What was found, best first, and how much there is."""

    results: list[SearchResult]
    total_count: int


class Meant(Answer):
    """A job, dataset, column or run; `label` is the shortest name that means only this."""

    type: str
    kind: str
    node_id: str
    name: str
    namespace: str
    field: str | None
    updated_at: datetime | None
    label: str

    @property
    def place(self) -> Name:
        """The name of the job or dataset."""
        return Name(self.namespace, self.name)


class Resolution(Answer):
    """What a name means, and what else it could mean; no node where nobody could tell."""

    node: Meant | None
    others: list[Meant]
    total: int
    suggestions: list[str]
