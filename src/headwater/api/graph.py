"""Graphs of jobs and datasets, and of columns."""

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET, UnsetType

from headwater.api.base import Answer, Name
from headwater.api.datasets import Field
from headwater.api.runs import Run

_UNTOLD = datetime(1970, 1, 1, tzinfo=UTC)


class Edge(Answer):
    """An edge between two node ids.

    In a cumulative graph with the first and the last moment at which it was there; it has no last
    while it stands.
    """

    origin: str
    destination: str
    first: datetime | UnsetType | None = UNSET
    last: datetime | UnsetType | None = UNSET


class DatasetData(Answer):
    """A dataset as a node."""

    id: Name
    type: str
    name: str
    physical_name: str
    namespace: str
    created_at: datetime = _UNTOLD
    updated_at: datetime = _UNTOLD
    source_name: str = ""
    fields: list[Field] = msgspec.field(default_factory=list)
    tags: list[str] = msgspec.field(default_factory=list)
    last_modified_at: datetime | None = None
    description: str | None = None
    last_lifecycle_state: str = ""


class JobData(Answer):
    """A job as a node."""

    id: Name
    type: str
    name: str
    simple_name: str
    namespace: str
    parent_job_name: str | None = None
    parent_job_uuid: str | None = None
    current_run_uuid: str | None = None
    created_at: datetime = _UNTOLD
    updated_at: datetime = _UNTOLD
    inputs: list[Name] = msgspec.field(default_factory=list)
    outputs: list[Name] = msgspec.field(default_factory=list)
    location: str | None = None
    description: str | None = None
    latest_run: Run | None = None


class Transformation(Answer):
    """What happens to a column on its way into another."""

    type: str | None
    subtype: str | None
    description: str
    masking: bool


class ColumnInput(Answer):
    """An input of a column; in detail with every step, and the job that takes them."""

    namespace: str
    dataset: str
    field: str
    transformation_description: str | None
    transformation_type: str | None
    dataset_version: str | None = None
    transformations: list[Transformation] | UnsetType = UNSET
    job: Name | UnsetType | None = UNSET


class ColumnData(Answer):
    """A column as a node."""

    namespace: str
    dataset: str
    field: str
    dataset_version: str | None = None
    field_type: str = ""
    transformation_description: str | None = None
    transformation_type: str | None = None
    input_fields: list[ColumnInput] = msgspec.field(default_factory=list)


class DatasetNode(Answer, tag_field="type", tag="DATASET"):
    """A dataset with its edges."""

    id: str
    data: DatasetData
    in_edges: list[Edge]
    out_edges: list[Edge]


class JobNode(Answer, tag_field="type", tag="JOB"):
    """A job with its edges."""

    id: str
    data: JobData
    in_edges: list[Edge]
    out_edges: list[Edge]


class ColumnNode(Answer, tag_field="type", tag="DATASET_FIELD"):
    """A column with its edges."""

    id: str
    data: ColumnData
    in_edges: list[Edge]
    out_edges: list[Edge]


class Graph(Answer):
    """A graph of jobs and datasets."""

    graph: list[DatasetNode | JobNode]


class WholeGraph(Answer):
    """The whole graph if it is small enough, else its busiest part."""

    graph: list[DatasetNode | JobNode]
    total: int
    whole: bool


class ColumnGraph(Answer):
    """A graph of columns."""

    graph: list[ColumnNode]


class DatasetDataPage(Answer):
    """Datasets of all namespaces, latest first."""

    datasets: list[DatasetData]
    total_count: int
