"""How the graph changed, and what a node reaches in it."""

from datetime import datetime

from msgspec import field

from headwater.api.base import Answer
from headwater.api.graph import Transformation


class Change(Answer):
    """A moment at which the graph changed."""

    at: datetime
    kinds: list[str]
    node_ids: list[str]
    run_id: str | None


class ChangePage(Answer):
    """The moments at which the graph changed, oldest first."""

    changes: list[Change]


class NodeChanges(Answer):
    """The ids of nodes that are new, and of those that are gone."""

    added: list[str]
    removed: list[str]


class EdgeChange(Answer):
    """An edge that is new or gone, since when, and by which run."""

    origin: str
    destination: str
    at: datetime | None
    run_id: str | None


class EdgeChanges(Answer):
    """Edges that are new, and those that are gone."""

    added: list[EdgeChange]
    removed: list[EdgeChange]


class ColumnEdgeChange(EdgeChange):
    """An edge between columns that is new or gone."""

    transformations: list[Transformation]


class ColumnEdgeUpdate(EdgeChange):
    """An edge between columns whose transformations are others."""

    before: list[Transformation]
    after: list[Transformation]


class ColumnEdgeChanges(Answer):
    """Edges between columns that are new, gone or not as they were."""

    added: list[ColumnEdgeChange]
    removed: list[ColumnEdgeChange]
    changed: list[ColumnEdgeUpdate]


class FieldType(Answer):
    """What a schema says of a field."""

    type: str | None
    description: str | None


class FieldUpdate(Answer):
    """A field that was added, removed or changed."""

    node_id: str
    name: str
    change: str
    before: FieldType | None
    after: FieldType | None
    at: datetime | None
    run_id: str | None


class Diff(Answer):
    """What changed between two moments."""

    since: datetime | None = field(name="from")
    to: datetime | None
    nodes: NodeChanges
    edges: EdgeChanges
    column_edges: ColumnEdgeChanges
    fields: list[FieldUpdate]


class ImpactItem(Answer):
    """A node downstream or upstream of another, and how far."""

    node_id: str
    type: str
    namespace: str
    name: str
    field: str | None
    distance: int
    kind: str
    via: list[str]
    owners: list[str]
    tags: list[str]
    last_state: str | None
    last_run_id: str | None
    last_run_at: datetime | None


class ImpactPage(Answer):
    """Everything downstream or upstream of a node, nearest first."""

    node_id: str
    items: list[ImpactItem]
