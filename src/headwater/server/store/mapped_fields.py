"""Notes the columns that column lineage names and schemas do not, so that they can be found.

Such as the columns of a dbt model that are not documented. Headwater's own producers report the
whole schema of what they read and write: other columns are internal to a job, and are not noted.
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
    if _OURS.search(bytes(part.facets.get("columnLineage", b""))):
        return
    mapping = mapping_of(commit, part, resolve)
    listed = {number: schema_names(commit, schema) for number, schema in schemas.items()}
    own = listed.get(dataset, _NONE)
    loose = {(dataset, output.field) for output in mapping.outputs if output.field not in own}
    for output in mapping.outputs:
        for given in output.inputs:
            if given.field not in listed.get(given.dataset, _NONE):
                loose.add((given.dataset, given.field))
    loose |= {
        (given.dataset, given.field)
        for given in mapping.dataset
        if given.field not in listed.get(given.dataset, _NONE)
    }
    found = sorted(one for one in loose if one[1] != WHOLE)
    numbers = field_ids(commit, [field for _, field in found])
    for (target, _), number in zip(found, numbers, strict=True):
        commit.add("mapped_field", target, number)
