"""Whether the outputs of runs hold data: what a failed run did not write is no current version."""

from headwater.openlineage.facets import Facets, OutputStatistics, is_absent, read_leniently
from headwater.openlineage.lifecycle import RunState
from headwater.server.store.commit import Commit
from headwater.server.store.rows import RunIoRow, RunRow
from headwater.server.store.runs import run_ios
from headwater.server.store.tables import OUTPUT

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


def note_progress(commit: Commit, run: RunRow) -> None:
    """Note that a stream has committed: all its outputs are written."""
    for row in run_ios(commit, run.id).values():
        if row.io == OUTPUT:
            _set(commit, row, WRITTEN)


def settle_written(commit: Commit, run: RunRow) -> None:
    """Work out which outputs of a run are not written: of a failed one, those without data."""
    rows = [row for row in run_ios(commit, run.id).values() if row.io == OUTPUT]
    written = {row.dataset for row in rows if row.written == WRITTEN}
    for row in rows:
        if row.written != WRITTEN:
            is_missing = run.state == RunState.FAILED and row.dataset not in written
            _set(commit, row, NOT_WRITTEN if is_missing else UNKNOWN)


def _set(commit: Commit, row: RunIoRow, written: int) -> None:
    if row.written != written:
        row.written = written
        commit.changed_ios[row.run, row.io, row.dataset, row.schema] = row
