"""Notes the columns that column lineage names and schemas do not, so that they can be found.

Such as the columns of a dbt model that are not documented. Headwater's own producers report the
whole schema of what they read and write: other columns are internal to a job, and are not noted.
"""

from headwater.openlineage.events import DatasetPart
from headwater.openlineage.facets import WHOLE, read_lineage, text_of
from headwater.server.store.contents import Resolve, field_ids, schema_names
from headwater.server.store.unit import Unit

_OURS = "urn:headwater:"


def note_mapped_fields(
    unit: Unit, part: DatasetPart, dataset: int, schemas: dict[int, int], resolve: Resolve
) -> None:
    """Note the columns of an event's column lineage; `schemas` has those that the event tells."""
    if part.lineage is None:
        return
    seen = ("mapped fields", part.lineage + (part.schema or b"") + dataset.to_bytes(8))
    if seen in unit.contents:
        return
    unit.contents[seen] = 1
    if (text_of(part.facets, "columnLineage", "_producer") or "").startswith(_OURS):
        return
    facet = read_lineage(part.facets, part.where)
    named = {(dataset, field) for field in facet.fields or ()}
    told = [given for field in (facet.fields or {}).values() for given in field.input_fields or ()]
    named |= {(resolve(given), given.field) for given in [*told, *(facet.dataset or ())]}
    listed = {number: schema_names(unit, schema) for number, schema in schemas.items()}
    named = {one for one in named if one[1] != WHOLE}
    loose = sorted(one for one in named if one[1] not in listed.get(one[0], ()))
    numbers = field_ids(unit, [field for _, field in loose])
    for (target, _), number in zip(loose, numbers, strict=True):
        unit.put("mapped_field", target, number)
