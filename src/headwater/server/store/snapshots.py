"""Which run reported which snapshots: of tables that its reports may speak for.

A key with namespaces may name datasets of others as outputs, and say nothing about them. What a run
tells of its snapshots is told of all its outputs. So what such a key tells of snapshots counts only
while it covers all outputs of the run, whoever names them, and whether before or afterwards.
"""

from headwater.server.store.commit import Commit
from headwater.server.store.datasets import dataset_rows
from headwater.server.store.namespaces import namespace_name
from headwater.server.store.rows import RunRow
from headwater.server.store.run_owners import covered_by
from headwater.server.store.runs import run_ios
from headwater.server.store.tables import OUTPUT
from headwater.server.store.written import PROGRESS

_TOLD = "SELECT DISTINCT namespaces FROM snapshot WHERE run = ? AND namespaces IS NOT NULL"
_TAKE_BACK = "DELETE FROM snapshot WHERE run = ? AND namespaces = ?"


def record_snapshots(
    commit: Commit, run: RunRow, rows: list[tuple[str, int, int, str | None]], *, has_more: bool
) -> None:
    """Note the snapshots that an event tells of; `has_more`: it names more datasets than known."""
    for row in rows:
        commit.add("snapshot", *row)
    told = {row[3] for row in rows if row[3] is not None}
    if has_more and PROGRESS in run.facets:
        commit.flush()
        told |= {text for (text,) in commit.session.all(_TOLD, run.id)}
    for text in told:
        if not _covers_outputs(commit, covered_by(text), run):
            commit.flush()
            commit.session.run(_TAKE_BACK, run.id, text)


def _covers_outputs(commit: Commit, prefixes: tuple[str, ...], run: RunRow) -> bool:
    outputs = {dataset for io, dataset, _ in run_ios(commit, run.id) if io == OUTPUT}
    rows = dataset_rows(commit, outputs)
    return all(namespace_name(commit, row.namespace).startswith(prefixes) for row in rows)
