"""Tables that Iceberg makes up about a table: its snapshots, its files, its changes.

Reading one of them reads the table that it is about. Only the table of changes has its columns.
"""

from headwater.capture.datasets.queries import Behind
from headwater.capture.plan.lineage import Effect
from headwater.capture.spark.catalogs import CHANGES, iceberg
from headwater.capture.spark.jvm import Java, call, class_name

_BASE = "org.apache.iceberg.BaseMetadataTable"


def behind_metadata(table: Java) -> tuple[Behind, ...] | None:
    """The columns of the table behind those of a metadata table; None if it is no such table."""
    if class_name(table) == CHANGES:
        return _columns(iceberg(table))
    return () if _is_metadata(iceberg(table)) else None


def _is_metadata(table: Java | None) -> bool:
    kind = table.getClass() if table is not None else None
    while kind is not None:
        if kind.getName() == _BASE:
            return True
        kind = kind.getSuperclass()
    return False


def _columns(table: Java | None) -> tuple[Behind, ...]:
    listed = call(table, "schema", "columns")
    names = [str(column.name()) for column in listed] if listed is not None else []
    return tuple(Behind(name, name, Effect.IDENTITY) for name in names)
