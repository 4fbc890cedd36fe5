"""From the rows that a predicate holds for to the runs, snapshots and offsets behind them."""

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from headwater.errors import RowMissing
from headwater.pipeline.settings import Settings
from headwater.trace.given import Given, GivenPlan
from headwater.trace.iceberg import IcebergTable, TracedRow
from headwater.trace.lineage import Lineage, Server
from headwater.trace.messages import add_messages
from headwater.trace.predicate import condition
from headwater.trace.records import RecordFinder
from headwater.trace.shapes import RowStory, SnapshotTold, Story
from headwater.trace.values import in_utc, shown

_NOT_REPORTED = "no run has reported the snapshot"


@in_utc()
def why(
    spark: SparkSession, server: Server, table: str, predicate: str, most: int,
    settings: Settings | None = None, given: Given | None = None,
) -> Story:  # fmt: skip
    """The story of some rows of a table (`catalog.namespace.table`).

    It comes from metadata alone, unless settings tell where to read records. How the table is
    written is known of the pipeline's own jobs; of others, an application or SQL may be given.

    Raises: TableUnknown, BadPredicate, RowMissing, DryRunError.
    """
    found, rows, count = find_rows(spark, table, predicate, most)
    lineage = Lineage(server)
    stories = [row_story(found, lineage, row) for row in rows]
    if settings is not None:
        plan = GivenPlan(spark, given) if given else None
        records = RecordFinder(spark, settings, lineage, plan).find_given(found, rows)
        add_messages(lineage, records, settings.bootstrap)
        for story, one in zip(stories, records, strict=True):
            story.records = one
    formulas = lineage.formulas(found.node, found.columns)
    if count > len(rows):
        lineage.note(f"{count} rows match: the first {len(rows)} are traced")
    return Story(
        table, str(found.node), predicate, found.format_version, count, stories, formulas,
        [*lineage.notes], lineage.is_up,
    )  # fmt: skip


def find_rows(
    spark: SparkSession, table: str, predicate: str, most: int
) -> tuple[IcebergTable, list[TracedRow], int]:
    """The table, some rows that match, and how many do.

    Raises: TableUnknown, BadPredicate, RowMissing.
    """
    wanted = condition(spark, predicate)
    found = IcebergTable(spark, table)
    rows, count = found.matching(wanted, predicate, most)
    if not rows:
        raise RowMissing(table, predicate)
    return found, rows, count


def row_story(table: IcebergTable, lineage: Lineage, row: TracedRow) -> RowStory:
    """Where one row came from."""
    writes = lineage.writes(table.node, row.snapshot_id) if row.snapshot_id else []
    reason = row.reason or (None if writes or not lineage.is_up else _NOT_REPORTED)
    return RowStory(shown(row.row), row.row_id, _told(table, row), reason is None, reason, writes)


def _told(table: IcebergTable, row: TracedRow) -> SnapshotTold | None:
    if row.snapshot_id is None:
        return None
    made = table.snapshot(row.snapshot_id)
    if made is None:
        return SnapshotTold(row.snapshot_id, row.sequence)
    at = datetime.fromtimestamp(made.at_ms / 1000, UTC)
    return SnapshotTold(made.id, made.sequence, at, made.operation, made.query_id, made.batch)
