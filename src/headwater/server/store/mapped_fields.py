"""Notes the columns that column lineage names and schemas do not, so that they can be found.

Such as the columns of a dbt model that are not documented, or the fields that a query decodes from
the records of a topic. A schema that Headwater's own producers report is whole: other columns are
internal to a job, and are not noted.
"""

import re

from headwater.openlineage.events import EventDataset
from headwater.openlineage.facets import WHOLE
from headwater.server.store.commit import Commit
from headwater.server.store.contents import Resolve, field_ids, mapping_of, schema_names

# Facets are large, and of this one only the producer is asked for.
_OURS = re.compile(rb'"_producer"\s*:\s*"urn:headwater:')
_NONE: frozenset[str] = frozenset()


def note_mapped_fields(
    commit: Commit, part: EventDataset, dataset: int, schemas: dict[int, int], resolve: Resolve
) -> None:
    """Note the columns of an event's column lineage; `schemas` has those that the event tells."""
    if part.lineage is None:
        return
    seen = ("mapped fields", part.lineage + (part.schema or b"") + dataset.to_bytes(8))
    if seen in commit.cache.contents:
        return
    commit.cache.contents[seen] = 1
    mapping = mapping_of(commit, part, resolve)
    listed = {number: schema_names(commit, schema) for number, schema in schemas.items()}
    named = {(dataset, output.field) for output in mapping.outputs}
    given = [one for output in mapping.outputs for one in output.inputs]
    named |= {(one.dataset, one.field) for one in [*given, *mapping.dataset]}
    if _OURS.search(bytes(part.facets.get("columnLineage", b""))):
        named = {one for one in named if one[0] not in listed}
    found = sorted(
        one for one in named if one[1] != WHOLE and one[1] not in listed.get(one[0], _NONE)
    )
    numbers = field_ids(commit, [field for _, field in found])
    for (target, _), number in zip(found, numbers, strict=True):
        commit.add("mapped_field", target, number)
