"""Whether the outputs of runs hold data: what a failed run did not write is no current version."""

from headwater.openlineage.facets import Facets, OutputStatistics, is_absent, read_leniently
from headwater.openlineage.lifecycle import RunState
from headwater.server.store.rows import RunIoRow, RunRow
from headwater.server.store.tables import OUTPUT
from headwater.server.store.unit import Unit

NOT_WRITTEN, UNKNOWN, WRITTEN = -1, 0, 1  # of `run_io.written`
PROGRESS = "headwater_progress"  # reported by streams that have committed
_VERSIONS = ("version", "datasetVersion", "icebergCommitReport")


def reports_data(facets: Facets, own: Facets) -> bool:
    """Whether the facets of an output report rows, bytes, files or a version that was written."""
    for name in _VERSIONS:
        raw = facets.get(name) or own.get(name)
        if raw is not None and not is_absent(raw):
            return True
    told: OutputStatistics | None = read_leniently(own, "outputStatistics")
    return told is not None and any((told.row_count, told.size, told.file_count))


def note_progress(unit: Unit, run: RunRow) -> None:
    """Note that a stream has committed: all its outputs are written."""
    for row in unit.ios(run.id).values():
        if row.io == OUTPUT:
            _set(unit, row, WRITTEN)


def settle_written(unit: Unit, run: RunRow) -> None:
    """Work out which outputs of a run are not written: of a failed one, those without data."""
    rows = [row for row in unit.ios(run.id).values() if row.io == OUTPUT]
    written = {row.dataset for row in rows if row.written == WRITTEN}
    for row in rows:
        if row.written != WRITTEN:
            is_missing = run.state == RunState.FAILED and row.dataset not in written
            _set(unit, row, NOT_WRITTEN if is_missing else UNKNOWN)


def _set(unit: Unit, row: RunIoRow, written: int) -> None:
    if row.written != written:
        row.written = written
        unit.changed_ios[row.run, row.io, row.dataset, row.schema] = row
