"""Checks of what an event says, before anything of it is stored.

A facet that shapes the graph and is malformed refuses the whole event; a schema or a column
lineage that passed once is not read again.
"""

from uuid import UUID

from headwater.errors import EventRejected
from headwater.openlineage.events import (
    MAX_FIELD,
    Event,
    EventDataset,
    check_name,
    check_text,
    is_plain,
    is_plain_name,
)
from headwater.openlineage.facets import (
    ColumnLineageFacet,
    InputField,
    LifecycleFacet,
    LineageFacet,
    ParentFacet,
    SchemaFacet,
    SymlinksFacet,
    flat_fields,
    read_strictly,
)

MAX_SYMLINKS = 100  # of one dataset in one event; producers report one to three
_MOST = 100_000


class Checker:
    """Checks events, remembering the digests of facets that were in order."""

    def __init__(self) -> None:
        self._passed: set[bytes] = set()

    def check(self, event: Event) -> None:
        """Refuse an event that could not be applied, its inputs and outputs apart.

        Raises: EventRejected, naming the place and the reason.
        """
        if "parent" in event.run_facets:
            _check_parent(event)
        if "headwater_lease" in event.run_facets:
            read_strictly(event.run_facets, "headwater_lease", "run")
        if event.dataset:
            self.check_part(event.dataset)

    def check_part(self, part: EventDataset) -> None:
        """Refuse what an event says of a dataset.

        Raises: EventRejected, naming the place and the reason.
        """
        for digest, check in ((part.schema, _check_schema), (part.lineage, _check_lineage)):
            if digest is not None and digest not in self._passed:
                check(part)
                if len(self._passed) >= _MOST:
                    self._passed.clear()
                self._passed.add(digest)
        if "symlinks" in part.facets:
            _check_symlinks(part)
        if "lifecycleStateChange" in part.facets:
            _check_lifecycle(part)


def _check_schema(part: EventDataset) -> None:
    facet: SchemaFacet | None = read_strictly(part.facets, "schema", part.where)
    where = f"{part.where}.facets.schema.fields"
    for name, _ in flat_fields(facet.fields or []) if facet else ():
        check_text(name, where, MAX_FIELD)


def _check_lineage(part: EventDataset) -> None:
    if "lineage" in part.facets:
        _check_explicit_lineage(part)
    facet: ColumnLineageFacet | None = read_strictly(part.facets, "columnLineage", part.where)
    if facet is None:
        return
    where = f"{part.where}.facets.columnLineage"
    for field, told in (facet.fields or {}).items():
        if not is_plain(field, MAX_FIELD):
            check_text(field, f"{where}.fields", MAX_FIELD)
        for given in told.input_fields or ():
            # There may be tens of thousands: where a text stands is put together only if needed.
            if not (
                is_plain(given.field, MAX_FIELD)
                and is_plain_name(given.name)
                and is_plain_name(given.namespace)
            ):
                _check_input(given, f"{where}.fields.{field}.inputFields")
    for given in facet.dataset or ():
        _check_input(given, f"{where}.dataset")


def _check_explicit_lineage(part: EventDataset) -> None:
    facet: LineageFacet | None = read_strictly(part.facets, "lineage", part.where)
    if facet is None:
        return
    where = f"{part.where}.facets.lineage"
    fields = (facet.fields or {}).items()
    for name, _ in fields:
        check_text(name, f"{where}.fields", MAX_FIELD)
    for given in [*(facet.inputs or ()), *(one for _, f in fields for one in f.inputs or ())]:
        for text, check, what in (
            (given.namespace, check_name, "namespace"),
            (given.name, check_name, "name"),
            (given.field, _check_field, "field"),
        ):
            if text is not None:
                check(text, f"{where}.inputs.{what}")


def _check_field(text: str, where: str) -> None:
    check_text(text, where, MAX_FIELD)


def _check_input(given: InputField, where: str) -> None:
    check_name(given.namespace, f"{where}.namespace")
    check_name(given.name, f"{where}.name")
    check_text(given.field, f"{where}.field", MAX_FIELD)


def _check_symlinks(part: EventDataset) -> None:
    facet: SymlinksFacet | None = read_strictly(part.facets, "symlinks", part.where)
    where = f"{part.where}.facets.symlinks.identifiers"
    names = (facet.identifiers if facet else None) or []
    if len(names) > MAX_SYMLINKS:
        raise EventRejected(
            where,
            f"it has {len(names):,} other names of a dataset; {MAX_SYMLINKS} is the most. "
            "Report partitions and files as datasets of their own",
        )
    for index, name in enumerate(names):
        check_name(name.namespace, f"{where}[{index}].namespace")
        check_name(name.name, f"{where}[{index}].name")


def _check_lifecycle(part: EventDataset) -> None:
    facet: LifecycleFacet | None = read_strictly(part.facets, "lifecycleStateChange", part.where)
    if facet and facet.previous_identifier:
        where = f"{part.where}.facets.lifecycleStateChange.previousIdentifier"
        check_name(facet.previous_identifier.namespace, f"{where}.namespace")
        check_name(facet.previous_identifier.name, f"{where}.name")


def _check_parent(event: Event) -> None:
    facet: ParentFacet | None = read_strictly(event.run_facets, "parent", "run")
    if facet is None:
        return
    root = facet.root
    for run, job, where in (
        (facet.run, facet.job, "run.facets.parent"),
        (root.run if root else None, root.job if root else None, "run.facets.parent.root"),
    ):
        if run is not None:
            _check_uuid(run.run_id, f"{where}.run.runId")
        if job is not None:
            check_name(job.namespace, f"{where}.job.namespace")
            check_name(job.name, f"{where}.job.name")


def _check_uuid(text: str, where: str) -> None:
    try:
        UUID(text)
    except ValueError:
        raise EventRejected(where, f"{text[:64]!r} is not a UUID") from None
