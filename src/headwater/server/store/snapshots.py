"""Which run reported which snapshots: of tables that its reports may speak for.

A key with namespaces may name datasets of others as outputs, and say nothing about them. What a run
tells of its snapshots is told of all its outputs. So with an output of others, reports of such a
key tell of no snapshots, and those that such reports told of before are taken back.
"""

from headwater.openlineage.events import Event
from headwater.server.store.commit import Commit
from headwater.server.store.datasets import dataset_rows
from headwater.server.store.namespaces import namespace_name
from headwater.server.store.rows import RunRow
from headwater.server.store.runs import run_ios
from headwater.server.store.tables import OUTPUT


def record_snapshots(
    commit: Commit, run: RunRow, event: Event, rows: list[tuple[str, int, int, bool]]
) -> None:
    """Note the snapshots that an event tells of, or that names more datasets than were known."""
    if event.runs_of is None or _covers_outputs(commit, event.runs_of, run):
        for row in rows:
            commit.add("snapshot", *row)
    else:
        commit.flush()
        commit.session.run("DELETE FROM snapshot WHERE run = ? AND limited", run.id)


def _covers_outputs(commit: Commit, prefixes: tuple[str, ...], run: RunRow) -> bool:
    outputs = {dataset for io, dataset, _ in run_ios(commit, run.id) if io == OUTPUT}
    rows = dataset_rows(commit, outputs)
    return all(namespace_name(commit, row.namespace).startswith(prefixes) for row in rows)
