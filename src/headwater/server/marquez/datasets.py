"""Datasets with everything known of them."""

from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec import Raw

from headwater.openlineage.facets import Facets
from headwater.openlineage.quality import ASSERTIONS
from headwater.server.lineage.datasets import Row, Tags, rows_of
from headwater.server.lineage.facets import FacetBook, dataset_facets
from headwater.server.lineage.mappings import datasets_read
from headwater.server.lineage.run_io import versions_at
from headwater.server.lineage.schemas import schemas_of, unlisted_columns
from headwater.server.lineage.view import (
    IndexedMapping,
    Schema,
    StoreView,
    moment,
    uuid_text,
)
from headwater.server.marquez.quality import DatasetChecks
from headwater.server.marquez.responses import (
    ColumnLineage,
    Dataset,
    DatasetData,
    InputFieldOf,
    Name,
)


def dataset_node(
    row: Row, tags: Tags, schema: Schema | None, unlisted: Iterable[str] = (), *, with_tags: bool
) -> DatasetData:
    """A dataset as a node of a graph."""
    return DatasetData(
        Name(row.namespace, row.name), "DB_TABLE", row.name, row.name, moment(row.created_at),
        moment(row.updated_at), row.namespace, row.source, tags.fields(row.id, schema, unlisted),
        tags.of(row.id) if with_tags else [], None, row.description, row.lifecycle,
    )  # fmt: skip


def datasets(view: StoreView, roots: list[int]) -> list[Dataset]:
    """Datasets with everything known of them, in the order asked for."""
    rows, schemas, tags = rows_of(view, roots), schemas_of(view, roots), Tags(view, roots)
    wanted = [dataset_facets(rows[n].facets, rows[n].names) for n in roots if n in rows]
    book = FacetBook(view, wanted)
    columns, unlisted = column_lineage(view, roots, schemas), unlisted_columns(view, roots)
    versions = versions_at(view, set(roots), view.at)
    checks = DatasetChecks(view, [root for root, row in rows.items() if ASSERTIONS in row.facets])
    return [
        _dataset(
            row, versions.get(root),
            tags.fields(root, schemas.get(root), unlisted.get(root, ())), tags, columns.get(root),
            checks.add_to(root, book.get(dataset_facets(row.facets, row.names))),
        )
        for root in roots
        if (row := rows.get(root)) is not None
    ]  # fmt: skip


def _dataset(
    row: Row,
    version: bytes | None,
    fields: Raw,
    tags: Tags,
    columns: list[ColumnLineage] | None,
    facets: Facets,
) -> Dataset:
    return Dataset(
        Name(row.namespace, row.name), "DB_TABLE", row.name, row.name, moment(row.created_at),
        moment(row.updated_at), row.namespace, row.source, fields,
        tags.of(row.id), None, row.lifecycle, row.description,
        uuid_text(version) if version else None, columns,
        facets, row.lifecycle == "DROP",
    )  # fmt: skip


def column_lineage(
    view: StoreView, roots: list[int], schemas: dict[int, Schema]
) -> dict[int, list[ColumnLineage]]:
    """The inputs of the columns of datasets, as the jobs that write them tell."""
    rows = view.session.all(
        "SELECT d.root, m.mapping, j.name, m.since, d.name, m.job FROM dataset d "
        "JOIN mapping_span m ON m.dataset = d.id AND m.since <= ? AND m.until > ? "
        "LEFT JOIN job j ON j.id = m.job WHERE d.root = ANY(?) AND (m.job = 0 OR "
        "(NOT j.hidden AND EXISTS (SELECT 1 FROM edge e WHERE e.job = m.job AND e.io = 1 "
        "AND e.dataset = m.dataset AND e.since <= ? AND e.until > ?)))",
        view.at, view.at, roots, view.at, view.at,
    )  # fmt: skip
    mappings = view.mappings({row[1] for row in rows})
    inputs = {i.dataset for m in mappings.values() for o in m.outputs.values() for i in o.inputs}
    origins = _origins(view, [*inputs])
    names = {member: origin[1:] for member, origin in origins.items()}
    more = schemas_of(view, [*{origin[0] for origin in origins.values()} - schemas.keys()])
    schemas = {**schemas, **more}
    ties = Counter(row[2:5] for row in rows)
    rows.sort(
        key=lambda row: (
            row[2] or "", row[3], row[4],
            _told(mappings[row[1]], names) if ties[row[2:5]] > 1 else "",
        )
    )  # fmt: skip
    found: dict[int, dict[str, ColumnLineage]] = {}

    unlisted = unlisted_columns(view, [*schemas])
    # The columns of each dataset that has a schema; any column of another one exists.
    columns = {
        root: schema.names | unlisted[root] if root in unlisted else schema.names
        for root, schema in schemas.items()
    }
    listed = {member: columns.get(origin[0]) for member, origin in origins.items()}
    members: dict[int, set[int]] = {}
    for member, origin in origins.items():
        members.setdefault(origin[0], set()).add(member)
    reads = datasets_read(view, {row[5] for row in rows})
    for root, mapping, *_, job in rows:
        own = columns.get(root)
        # A job's own output may be an input of its columns, by any name.
        read = None if job == 0 else reads[job] | members.get(root, set())
        for output in mappings[mapping].outputs.values():
            if own is not None and output.field not in own:
                continue
            column = found.setdefault(root, {}).setdefault(
                output.field,
                ColumnLineage(output.field, [], output.description, output.type),
            )
            given = [
                InputFieldOf(*names[i.dataset], i.field, output.description, output.type)
                for i in output.inputs
                if ((there := listed[i.dataset]) is None or i.field in there)
                and (read is None or i.dataset in read)
            ]
            if column.input_fields:  # of another mapping; there may be tens of thousands
                known = {msgspec.structs.astuple(one) for one in column.input_fields}
                given = [one for one in given if msgspec.structs.astuple(one) not in known]
            column.input_fields += given
    return {root: list(columns.values()) for root, columns in found.items()}


def _told(mapping: IndexedMapping, names: dict[int, tuple[str, str]]) -> str:
    """What tells mappings of one moment apart, whichever was stored first."""
    return repr(
        [
            (o.field, o.description, o.type, [(names[i.dataset], i.field) for i in o.inputs])
            for o in mapping.outputs.values()
        ]
    )


def _origins(view: StoreView, members: list[int]) -> dict[int, tuple[int, str, str]]:
    """The roots of datasets, with their names."""
    rows = view.session.all(
        "SELECT d.id, r.id, n.name, r.name FROM dataset d JOIN dataset r ON r.id = d.root "
        "JOIN namespace n ON n.id = r.namespace WHERE d.id = ANY(?)", members,
    )  # fmt: skip
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


def list_datasets(
    view: StoreView, namespace: str, limit: int, offset: int
) -> tuple[list[Dataset], int]:
    """A page of the datasets of a namespace, and how many there are."""
    where = (
        "FROM dataset d JOIN namespace n ON n.id = d.namespace "
        "WHERE n.name = ? AND d.id = d.root AND NOT d.hidden"
    )
    rows = view.session.all(
        f"SELECT d.id {where} ORDER BY d.name LIMIT ? OFFSET ?", namespace, limit, offset
    )
    total = view.session.all(f"SELECT count(*) {where}", namespace)[0][0]
    return datasets(view, [row[0] for row in rows]), total
