"""Datasets, their versions and snapshots."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from headwater.api.base import Answer, Facets, Name
from headwater.api.runs import Offsets, Run


class Field(Answer):
    """A column; `inSchema` is false of one that only column lineage names, else it is left out."""

    name: str
    type: str | None
    tags: list[str]
    description: str | None
    in_schema: bool | UnsetType = UNSET


class InputField(Answer):
    """An input of a column in a dataset's column lineage."""

    namespace: str
    dataset: str
    field: str
    transformation_description: str | None = None
    transformation_type: str | None = None


class ColumnLineage(Answer):
    """The inputs of one column of a dataset."""

    name: str
    input_fields: list[InputField]
    transformation_description: str | None
    transformation_type: str | None


class Dataset(Answer):
    """A dataset with everything known of it."""

    id: Name
    type: str
    name: str
    physical_name: str
    created_at: datetime
    updated_at: datetime
    namespace: str
    source_name: str
    fields: list[Field]
    tags: list[str]
    last_modified_at: datetime | None
    last_lifecycle_state: str
    description: str | None
    current_version: str | None
    column_lineage: list[ColumnLineage] | None
    facets: Facets
    deleted: bool


class DatasetPage(Answer):
    """Datasets of a namespace, by name."""

    total_count: int
    datasets: list[Dataset]


class DatasetVersion(Answer):
    """A dataset as one run left it."""

    id: Name
    type: str
    name: str
    physical_name: str
    created_at: datetime
    version: str
    namespace: str
    source_name: str
    fields: list[Field]
    tags: list[str]
    lifecycle_state: str
    description: str | None
    current_schema_version: str
    created_by_run: Run | None
    facets: Facets


class DatasetVersionPage(Answer):
    """Versions of a dataset, latest first."""

    versions: list[DatasetVersion]
    total_count: int


class Snapshot(Answer):
    """A snapshot of a table, and the run that left it; None for a run that is not told."""

    id: str
    at: datetime
    run_id: str | None


class SnapshotPage(Answer):
    """Snapshots of a table, newest first."""

    snapshots: list[Snapshot]


class SnapshotOffsets(Answer):
    """The Kafka offsets in a snapshot; of all `snapshots` where they are reported together."""

    snapshot: str
    run_id: str
    at: datetime
    snapshots: list[str]
    offsets: Offsets
    batch: int | None
    sequence: int | None


class WarehouseTable(Answer):
    """A table: where it lies, what else it is called, and what was committed to it."""

    namespace: str
    name: str
    aliases: list[Name]
    updated_at: datetime
    snapshots: int
    last: Snapshot | None


class TablePage(Answer):
    """Tables, those with the newest snapshots first."""

    tables: list[WarehouseTable]
