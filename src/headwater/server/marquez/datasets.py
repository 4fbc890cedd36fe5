"""Datasets with everything known of them."""

from collections.abc import Iterable
from typing import Any

from headwater.api.base import Name
from headwater.api.datasets import Dataset
from headwater.api.graph import DatasetData
from headwater.openlineage.facets import Facets
from headwater.openlineage.quality import ASSERTIONS
from headwater.server.lineage.datasets import Row, Tags, rows_of
from headwater.server.lineage.facets import FacetBook, dataset_facets
from headwater.server.lineage.run_io import versions_at
from headwater.server.lineage.schemas import schema_ids
from headwater.server.lineage.view import Schema, StoreView, moment, uuid_text
from headwater.server.marquez.column_lineage import column_lineage
from headwater.server.marquez.quality import DatasetChecks


def dataset_node(
    row: Row, tags: Tags, schema: Schema | None, unlisted: Iterable[str] = (), *, with_tags: bool
) -> DatasetData:
    """A dataset as a node of a graph."""
    return DatasetData(
        Name(row.namespace, row.name), "DB_TABLE", row.name, row.name, row.namespace,
        moment(row.created_at), moment(row.updated_at), row.source,
        tags.fields(row.id, schema, unlisted),
        tags.of(row.id) if with_tags else [], None, row.description, row.lifecycle,
    )  # fmt: skip


def datasets(view: StoreView, roots: list[int]) -> list[Dataset]:
    """Datasets with everything known of them, in the order asked for."""
    rows, ids, tags = rows_of(view, roots), schema_ids(view, roots), Tags(view, roots)
    schemas = view.schemas({*ids.values()})
    wanted = [dataset_facets(rows[n].facets, rows[n].names) for n in roots if n in rows]
    book = FacetBook(view, wanted)
    columns, unlisted = column_lineage(view, roots, ids)
    versions = versions_at(view, set(roots), view.at)
    checks = DatasetChecks(view, [root for root, row in rows.items() if ASSERTIONS in row.facets])
    return [
        _dataset(
            row, versions.get(root),
            tags.fields(root, schemas.get(ids.get(root, 0)), unlisted.get(root, ())),
            tags, columns.get(root),
            checks.add_to(root, book.get(dataset_facets(row.facets, row.names))),
        )
        for root in roots
        if (row := rows.get(root)) is not None
    ]  # fmt: skip


def _dataset(
    row: Row,
    version: bytes | None,
    fields: Any,
    tags: Tags,
    columns: Any,
    facets: Facets,
) -> Dataset:
    return Dataset(
        Name(row.namespace, row.name), "DB_TABLE", row.name, row.name, moment(row.created_at),
        moment(row.updated_at), row.namespace, row.source, fields,
        tags.of(row.id), None, row.lifecycle, row.description,
        uuid_text(version) if version else None, columns,
        facets, row.lifecycle == "DROP",
    )  # fmt: skip


def list_datasets(
    view: StoreView, namespace: str, limit: int, offset: int
) -> tuple[list[Dataset], int]:
    """A page of the datasets of a namespace, and how many there are."""
    shown, params = view.scope.shown()
    where = f"FROM dataset d JOIN namespace n ON n.id = d.namespace WHERE n.name = ?{shown}"
    rows = view.session.all(
        f"SELECT d.root {where} ORDER BY d.name LIMIT ? OFFSET ?", namespace, *params, limit, offset
    )
    total = view.session.all(f"SELECT count(*) {where}", namespace, *params)[0][0]
    return datasets(view, [row[0] for row in rows]), total
