"""Applies one event to the rows it speaks of.

Every change is a minimum, a maximum or the word of the latest event by its own time, so
that any order of the same events, with any repeats, ends in the same rows.
"""

from headwater.openlineage.events import Event
from headwater.openlineage.facets import is_streaming, text_of
from headwater.openlineage.lifecycle import RunState
from headwater.server.store.aliases import AliasRules
from headwater.server.store.apply_datasets import DatasetApplier, EventFacts, renamed
from headwater.server.store.apply_runs import RunApplier
from headwater.server.store.edges import update_edges
from headwater.server.store.facet_tags import JOB, record_tags
from headwater.server.store.rows import JobRow, Stamp, is_latest, record_facets
from headwater.server.store.tables import DECLARED, INPUT, OUTPUT
from headwater.server.store.unit import Unit
from headwater.server.store.written import settle_written


class Applier:
    """Applies events to a unit of work, under some alias rules."""

    def __init__(self, unit: Unit, rules: AliasRules) -> None:
        self.unit = unit
        self._runs, self._datasets = RunApplier(unit), DatasetApplier(unit, rules)

    def apply(self, event: Event, seq: int, received: int) -> tuple[int | None, int | None]:
        """Apply one event; give the ids of its run and job."""
        self.unit.restores = event.restores
        try:
            return self._apply(event, seq, received)
        finally:
            self.unit.restores = None

    def _apply(self, event: Event, seq: int, received: int) -> tuple[int | None, int | None]:
        stamp = (event.time, event.tie, seq)
        if event.dataset is not None:
            self._datasets.apply(event, [event.dataset], DECLARED, stamp, None, None, EventFacts())
            return None, None
        assert event.job is not None  # noqa: S101 -- read_event sees to it
        job = self.unit.job(*event.job, event.time)
        _apply_job(job, event, stamp)
        record_tags(self.unit, JOB, job.id, event.job_facets, job.facets, stamp)
        run = self._runs.apply(job, event, stamp, received)
        home = self.unit.job_row(run.job)
        facts = EventFacts()
        read = [*event.inputs, *renamed(event)]
        changes = [
            self._datasets.apply(event, read, INPUT, stamp, job, run, facts),
            self._datasets.apply(event, event.outputs, OUTPUT, stamp, job, run, facts),
        ]
        changes[0] = self._datasets.apply_mapped(facts, changes[0], run, stamp)
        self._runs.speak(run, event)
        for change in changes:
            update_edges(self.unit, home, run, change)
        if event.outputs and run.state == RunState.FAILED:
            settle_written(self.unit, run)
        if any(change.named for change in changes):
            run.version = self._runs.version(home, run)
        # What was out of order was written on the way, and these changed since.
        self.unit.changed_jobs.add(home.id)
        self.unit.changed_runs.add(run.id)
        return (run.id if event.run else None), job.id


def _apply_job(job: JobRow, event: Event, stamp: Stamp) -> None:
    job.hidden = False
    facets = event.job_facets
    if not record_facets(job.facets, facets, stamp):
        return
    if is_latest(job.facets, "jobType", stamp):
        job.type = "STREAM" if is_streaming(facets) else "BATCH"
        words = (text_of(facets, "jobType", key) for key in ("jobType", "integration"))
        job.labels = "\n".join(word for word in words if word)
    if is_latest(job.facets, "documentation", stamp):
        job.description = text_of(facets, "documentation", "description")
    if is_latest(job.facets, "sourceCodeLocation", stamp):
        job.location = text_of(facets, "sourceCodeLocation", "url")
