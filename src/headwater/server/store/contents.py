"""Schemas and column mappings, each kept once however many events repeat it.

A facet that was seen before costs one hash; only a new one is read.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from xxhash import xxh3_128_digest

from headwater.openlineage.events import EventDataset
from headwater.openlineage.facets import (
    ColumnLineageFacet,
    InputField,
    SchemaFacet,
    Transformation,
    flat_fields,
    read_lineage,
    read_strictly,
)
from headwater.server.store.commit import Commit
from headwater.server.store.compression import compress, decompress
from headwater.server.store.database import first

Step = tuple[str | None, str | None, str | None, bool | None]  # type, subtype, text, masking


class Input(NamedTuple):
    """A field of a dataset (by id) that an output depends on, and how."""

    dataset: int
    field: str
    steps: list[Step]


class Output(NamedTuple):
    """An output field with its inputs, and the older form's words on it."""

    field: str
    description: str | None
    type: str | None
    inputs: list[Input]


class Mapping(NamedTuple):
    """The column lineage of one facet; `dataset` holds for every output field."""

    outputs: list[Output]
    dataset: list[Input]


class Field(NamedTuple):
    """A column: dotted name, type, description."""

    name: str
    type: str | None
    description: str | None


_pack = msgspec.msgpack.Encoder().encode
_read_mapping = msgspec.msgpack.Decoder(Mapping).decode
_read_fields = msgspec.msgpack.Decoder(list[Field]).decode


def read_mapping(body: bytes) -> Mapping:
    """A mapping from its row."""
    return _read_mapping(decompress(body))


def read_fields(body: bytes) -> list[Field]:
    """The fields of a schema from its row."""
    return _read_fields(decompress(body))


Resolve = Callable[[InputField], int]


def schema_id(commit: Commit, part: EventDataset) -> int | None:
    """The number of the schema that an event tells, if it tells one."""
    if part.schema is None:
        return None
    seen = ("schema facet", part.schema)
    known = commit.cache.contents.get(seen)
    if known is None:
        facet: SchemaFacet = read_strictly(part.facets, "schema", part.where)
        told = flat_fields(facet.fields or [])
        fields = [Field(name, field.type, field.description) for name, field in told]
        known = commit.cache.contents[seen] = _keep_schema(commit, fields)
    return known


def _keep_schema(commit: Commit, fields: list[Field]) -> int:
    body = _pack(fields)
    digest = xxh3_128_digest(body)
    number = _known(commit, "schema", digest)
    if number is not None:
        return number
    number = commit.cache.new_id("schema")
    commit.cache.contents["schema", digest] = number
    commit.cache.schema_digests[number] = digest
    commit.cache.schema_names[number] = frozenset(field.name for field in fields)
    commit.add("schema", number, digest, compress(body))
    for name in field_ids(commit, {field.name: None for field in fields}):
        commit.add("schema_field", name, number)
    return number


def schema_names(commit: Commit, number: int) -> frozenset[str]:
    """The names of the fields of a schema; none for none."""
    if number == 0:
        return frozenset()
    names = commit.cache.schema_names.get(number)
    if names is None:
        rows = commit.session.all("SELECT fields FROM schema WHERE id = ?", number)
        names = frozenset(field.name for row in rows for field in read_fields(row[0]))
        commit.cache.schema_names[number] = names
    return names


def schema_digest(commit: Commit, number: int) -> bytes:
    """The digest of a schema; empty for none."""
    if number == 0:
        return b""
    digest = commit.cache.schema_digests.get(number)
    if digest is None:
        rows = commit.session.all("SELECT digest FROM schema WHERE id = ?", number)
        digest = commit.cache.schema_digests[number] = bytes(rows[0][0])
    return digest


def field_ids(commit: Commit, names: Iterable[str]) -> list[int]:
    """The numbers of field names; those that are new are given one."""
    known = commit.cache.field_names
    unread = [name for name in names if name not in known]
    if unread:
        found = commit.session.all("SELECT name, id FROM field_name WHERE name = ANY(?)", unread)
        known.update(found)
    for name in unread:
        if name not in known:
            known[name] = commit.cache.new_id("field_name")
            commit.add("field_name", known[name], name)
            commit.add("search", name, "F", known[name])
    return [known[name] for name in names]


def _known(commit: Commit, table: str, digest: bytes) -> int | None:
    number = commit.cache.contents.get((table, digest))
    if number is None:
        sql = f"SELECT id FROM {table} WHERE digest = ?"
        row = first(commit.session.all(sql, digest))
        if row is not None:
            number = commit.cache.contents[table, digest] = int(row[0])
    return number


def mapping_id(commit: Commit, part: EventDataset, resolve: Resolve) -> int:
    """The number of the column mapping of an output that has one.

    `resolve` gives the id of an input field's dataset.
    """
    assert part.lineage is not None  # noqa: S101
    seen = ("lineage facet", part.lineage)
    known = commit.cache.contents.get(seen)
    if known is None:
        known = commit.cache.contents[seen] = _keep_mapping(commit, _read(commit, part, resolve))
    return known


def mapping_of(commit: Commit, part: EventDataset, resolve: Resolve) -> Mapping:
    """The column mapping that an event tells; the last one that was read is at hand."""
    known = commit.cache.last_mapping
    return known[1] if known and known[0] == part.lineage else _read(commit, part, resolve)


def _read(commit: Commit, part: EventDataset, resolve: Resolve) -> Mapping:
    mapping = _mapping(read_lineage(part.facets, part.where), resolve)
    commit.cache.last_mapping = (part.lineage, mapping)
    return mapping


def _mapping(facet: ColumnLineageFacet, resolve: Resolve) -> Mapping:
    outputs = [
        Output(
            field,
            told.transformation_description,
            told.transformation_type,
            [_input(given, resolve) for given in told.input_fields or ()],
        )
        for field, told in (facet.fields or {}).items()
    ]
    return Mapping(outputs, [_input(given, resolve) for given in facet.dataset or ()])


def _input(given: InputField, resolve: Resolve) -> Input:
    return Input(resolve(given), given.field, [_step(t) for t in given.transformations or ()])


def _step(told: Transformation) -> Step:
    return told.type, told.subtype, told.description, told.masking


def _keep_mapping(commit: Commit, mapping: Mapping) -> int:
    body = _pack(mapping)
    digest = xxh3_128_digest(body)
    number = _known(commit, "mapping", digest)
    inputs = sorted(_input_datasets(mapping))
    if number is None:
        number = commit.cache.new_id("mapping")
        commit.cache.contents["mapping", digest] = number
        commit.add("mapping", number, digest, compress(body))
        for dataset in inputs:
            commit.add("mapping_input", dataset, number)
    commit.cache.mapping_inputs[number] = inputs
    return number


def _input_datasets(mapping: Mapping) -> set[int]:
    inputs: list[Any] = [given for output in mapping.outputs for given in output.inputs]
    return {given.dataset for given in [*inputs, *mapping.dataset]}
