"""Runs and datasets of every namespace, latest first: what tables show."""

from typing import Any

from headwater.api.base import Name
from headwater.api.graph import DatasetData
from headwater.api.runs import ListedRun
from headwater.server.lineage import datasets
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.schemas import schemas_of, unlisted_columns
from headwater.server.lineage.text_search import has_text
from headwater.server.lineage.view import StoreView
from headwater.server.marquez.datasets import dataset_node
from headwater.server.marquez.runs import RunWriter
from headwater.server.store.rows import RunRow


def list_runs(
    view: StoreView, states: list[str], limit: int, offset: int
) -> tuple[list[ListedRun], int]:
    """A page of the runs of all jobs, those that began last first, and how many there are."""
    where, params = f"WHERE {LISTED}", list[Any]()
    if states:
        where += f" AND state IN ({', '.join('?' * len(states))})"
        params += states
    found = view.session.all(
        f"SELECT * FROM run {where} ORDER BY created_at DESC, uuid DESC LIMIT ? OFFSET ?",
        *params, limit, offset,
    )  # fmt: skip
    total = view.session.all(f"SELECT count(*) FROM run {where}", *params)[0][0]
    rows = [RunRow.of(row) for row in found]
    writer, names = RunWriter(view, rows), job_names(view, {row.job for row in rows})
    tags = _run_tags(view, [row.id for row in rows])
    return [
        ListedRun(Name(*names[row.job]), writer.write(row), tags.get(row.id, [])) for row in rows
    ], total


def _run_tags(view: StoreView, runs: list[int]) -> dict[int, list[str]]:
    rows = view.session.all(
        "SELECT target, tag FROM facet_tag WHERE kind = 'RUN' AND target = ANY(?) ORDER BY tag",
        runs,
    )
    found: dict[int, list[str]] = {}
    for run, tag in rows:
        found.setdefault(run, []).append(tag)
    return found


def list_datasets(
    view: StoreView, text: str, namespace: str | None, limit: int, offset: int
) -> tuple[list[DatasetData], int]:
    """A page of the datasets of all namespaces, latest first, and how many there are."""
    listed, params = view.scope.shown()
    where = f"FROM dataset d JOIN namespace n ON n.id = d.namespace WHERE 1 = 1{listed}"
    if text:
        condition, wanted = has_text(view.session.dialect, "d.name", text)
        where += f" AND {condition}"
        params += wanted
    if namespace:
        where += " AND n.name = ?"
        params.append(namespace)
    rows = view.session.all(
        f"SELECT d.root {where} ORDER BY d.updated_at DESC, d.name LIMIT ? OFFSET ?",
        *params, limit, offset,
    )  # fmt: skip
    total = view.session.all(f"SELECT count(*) {where}", *params)[0][0]
    roots = [row[0] for row in rows]
    shown, tags = datasets.rows_of(view, roots), datasets.Tags(view, roots)
    schemas, unlisted = schemas_of(view, roots), unlisted_columns(view, roots)
    told = [
        dataset_node(shown[root], tags, schemas.get(root), unlisted.get(root, ()), with_tags=True)
        for root in roots
    ]
    return told, total
