"""The shapes of answers: Marquez's, field by field, so that its clients work unchanged.

An answer may hold a hundred thousand of these, none in a cycle: `gc=False` spares the
collector from looking through them.
"""

from datetime import datetime
from typing import Any

from msgspec import Raw, Struct

FacetMap = dict[str, Raw]


class Name(Struct, frozen=True, gc=False):
    """A dataset's or job's name."""

    namespace: str
    name: str


class VersionedName(Struct, frozen=True, gc=False):
    """A name with a version of it."""

    namespace: str
    name: str
    version: str


class Namespace(Struct, rename="camel", gc=False):
    """A namespace."""

    name: str
    created_at: datetime
    updated_at: datetime
    owner_name: str
    description: str | None
    is_hidden: bool


class Source(Struct, rename="camel", gc=False):
    """Where data lives."""

    type: str
    name: str
    created_at: datetime
    updated_at: datetime
    connection_url: str | None
    description: str | None


class Tag(Struct, gc=False):
    """A label with a meaning."""

    name: str
    description: str | None = None


class RunDataset(Struct, rename="camel", gc=False):
    """A dataset version that a run read or wrote."""

    dataset_version_id: VersionedName
    facets: FacetMap


class Run(Struct, rename="camel", gc=False):
    """A run of a job."""

    id: str
    created_at: datetime
    updated_at: datetime
    nominal_start_time: datetime | None
    nominal_end_time: datetime | None
    state: str
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    args: dict[str, Any]
    job_version: VersionedName | None
    input_dataset_versions: list[RunDataset]
    output_dataset_versions: list[RunDataset]
    facets: FacetMap


class RunTry(Struct, rename="camel", gc=False):
    """One try of a run."""

    state: str
    started_at: datetime | None
    ended_at: datetime | None


class InputFieldOf(Struct, rename="camel", gc=False):
    """An input of a column in a dataset's column lineage."""

    namespace: str
    dataset: str
    field: str
    transformation_description: str | None = None
    transformation_type: str | None = None


class ColumnLineage(Struct, rename="camel", gc=False):
    """The inputs of one column of a dataset."""

    name: str
    input_fields: list[Any]
    transformation_description: str | None
    transformation_type: str | None


class Dataset(Struct, rename="camel", gc=False):
    """A dataset with everything known of it."""

    id: Name
    type: str
    name: str
    physical_name: str
    created_at: datetime
    updated_at: datetime
    namespace: str
    source_name: str
    fields: Raw
    tags: list[str]
    last_modified_at: datetime | None
    last_lifecycle_state: str
    description: str | None
    current_version: str | None
    column_lineage: Raw | None
    facets: FacetMap
    deleted: bool


class DatasetVersion(Struct, rename="camel", gc=False):
    """A dataset as one run left it."""

    id: Name
    type: str
    name: str
    physical_name: str
    created_at: datetime
    version: str
    namespace: str
    source_name: str
    fields: Raw
    tags: list[str]
    lifecycle_state: str
    description: str | None
    current_schema_version: str
    created_by_run: Run | None
    facets: FacetMap


class Job(Struct, rename="camel", gc=False):
    """A job with everything known of it."""

    id: Name
    type: str
    name: str
    simple_name: str
    parent_job_name: str | None
    parent_job_uuid: str | None
    created_at: datetime
    updated_at: datetime
    namespace: str
    inputs: list[Name]
    outputs: list[Name]
    location: str | None
    description: str | None
    latest_run: Run | None
    latest_runs: list[Run] | None
    facets: FacetMap
    current_version: str | None
    labels: list[str]
    tags: list[str]


class JobVersion(Struct, rename="camel", gc=False):
    """What a job read and wrote in some of its runs."""

    id: VersionedName
    name: str
    created_at: datetime
    version: str
    namespace: str
    location: str | None
    inputs: list[Name]
    outputs: list[Name]
    latest_run: Run | None


class Edge(Struct, gc=False):
    """An edge of a graph, between two node ids."""

    origin: str
    destination: str


class DatedEdge(Edge, gc=False):
    """An edge with the first and the last moment it was there; it has no last while it stands."""

    first: datetime | None
    last: datetime | None


class DatasetData(Struct, rename="camel", gc=False):
    """A dataset as a node."""

    id: Name
    type: str
    name: str
    physical_name: str
    created_at: datetime
    updated_at: datetime
    namespace: str
    source_name: str
    fields: Raw
    tags: list[str]
    last_modified_at: datetime | None
    description: str | None
    last_lifecycle_state: str


class JobData(Struct, rename="camel", gc=False):
    """A job as a node."""

    id: Name
    type: str
    name: str
    simple_name: str
    parent_job_name: str | None
    parent_job_uuid: str | None
    current_run_uuid: str | None
    created_at: datetime
    updated_at: datetime
    namespace: str
    inputs: list[Name]
    outputs: list[Name]
    location: str | None
    description: str | None
    latest_run: Run | None


class InputFieldNode(Struct, rename="camel", gc=False):
    """An input of a column node."""

    namespace: str
    dataset: str
    dataset_version: str | None
    field: str
    transformation_description: str | None
    transformation_type: str | None


class DetailedInput(InputFieldNode, rename="camel", gc=False):
    """An input of a column node with every step, and the job that takes them."""

    transformations: list[dict[str, Any]]
    job: Name | None


class FieldData(Struct, rename="camel", gc=False):
    """A column as a node."""

    namespace: str
    dataset: str
    dataset_version: str | None
    field: str
    field_type: str
    transformation_description: str | None
    transformation_type: str | None
    input_fields: list[Any]


class Node(Struct, rename="camel", gc=False):
    """A node with its edges."""

    id: str
    type: str
    data: DatasetData | JobData | FieldData | Raw
    in_edges: list[Edge]
    out_edges: list[Edge]


class Graph(Struct, gc=False):
    """A lineage graph."""

    graph: list[Node]


class SearchResult(Struct, rename="camel", omit_defaults=True, gc=False):
    """Something whose name was searched for; `field` where it is a column."""

    type: str
    name: str
    updated_at: datetime
    namespace: str
    node_id: str
    field: str | None = None
