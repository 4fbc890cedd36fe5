"""What an event says of its run, applied to the run, its parents and their jobs."""

from uuid import UUID

from xxhash import xxh3_128_digest

from headwater.openlineage.events import Event
from headwater.openlineage.facets import (
    LeaseFacet,
    ParentFacet,
    is_streaming,
    read_strictly,
    text_of,
)
from headwater.openlineage.lifecycle import RunState
from headwater.openlineage.times import parse_moment
from headwater.server.store.commit import Commit
from headwater.server.store.datasets import dataset_rows
from headwater.server.store.edges import move_edges, regroup_edges
from headwater.server.store.facet_tags import RUN, record_tags
from headwater.server.store.jobs import find_job, job_name, job_row
from headwater.server.store.mapping_spans import regroup_mappings
from headwater.server.store.namespaces import namespace_name
from headwater.server.store.rows import NEVER, JobRow, RunRow, Stamp, is_latest, record_facets
from headwater.server.store.run_states import (
    LAPSE,
    first_completion,
    report_state,
    settle_state,
)
from headwater.server.store.run_trees import end_above
from headwater.server.store.runs import find_run, first_named, run_ios, run_row
from headwater.server.store.tables import INPUT, MAPPED, OUTPUT
from headwater.server.store.written import PROGRESS, note_progress, settle_written

_LONGEST_LEASE = 100 * 365 * 86_400  # seconds; what is longer never runs out
_SET_PARENT = "UPDATE run SET first_parent = ? WHERE id = ?"
DECLARATION = "DECLARED"  # the state of the row that stands for a job event


def apply_run(
    commit: Commit, job: JobRow, event: Event, stamp: Stamp, received: int
) -> tuple[RunRow, list[str]]:
    """Apply an event to its run; give that, and the snapshots that the event tells of."""
    if event.run is None:
        run = find_run(commit, UUID(bytes=event.digest), job.id, *stamp[:2])
        run.state, run.own = DECLARATION, True
        record_facets(run.job_facets, event.job_facets, stamp)
        return run, []
    newest = commit.cache.next_id["run"]
    run = find_run(commit, event.run, job.id, *stamp[:2])
    before = (run.state, run.ended_at) if run.own else None
    last, had_progress = run.updated_at, PROGRESS in run.facets
    if not run.own:
        run.own, run.job = True, job.id
        _set_first_parent(commit, run, event, is_new=run.id >= newest)
        run.job_at, run.job_tie, _ = stamp
        run.created_at = run.updated_at = event.time
        run.started_at = run.ended_at = None
    elif stamp[:2] < (run.job_at, run.job_tie):
        parent = run.first_parent
        _set_first_parent(commit, run, event)
        _move(commit, run, job, stamp)
        if run.first_parent != parent:
            regroup_edges(commit, run, job_row(commit, run.job))
            regroup_mappings(commit, run, parent)
    run.created_at = min(run.created_at, event.time)
    run.updated_at = max(run.updated_at, event.time)
    record_facets(run.job_facets, event.job_facets, stamp)
    if record_facets(run.facets, event.run_facets, stamp):
        _read_facets(run, event, stamp)
        record_tags(commit, RUN, run.id, event.run_facets, run.facets, stamp)
    if not had_progress and PROGRESS in run.facets:
        note_progress(commit, run)
    if "parent" in event.run_facets:
        _parent(commit, run, event, stamp, job)
    if LAPSE in event.run_facets:
        run.lapsed_at = max(run.lapsed_at or 0, event.time)
    else:
        run.heard_at = max(run.heard_at, received)
        report_state(commit, run, event, last)
    settle_state(run, end_above(commit, run))
    if (run.state, run.ended_at) != before:
        commit.ended.add(run.id)
        if before is not None and RunState.FAILED in (run.state, before[0]):
            settle_written(commit, run)
    if run.parent is not None:
        commit.parents.add(run.parent)
    snapshots = []
    if "headwater_progress" in event.run_facets:
        snapshots = commit.feed.progress(run.uuid, job_name(commit, run.job), event)
    # After how far it came: an end is the last that is told of a run.
    if before is None or run.state != before[0]:
        commit.feed.run(run.uuid, job_name(commit, run.job), run.state, event)
    return run, snapshots


def _move(commit: Commit, run: RunRow, job: JobRow, stamp: Stamp) -> None:
    """The run's job is that of its first event by time: an earlier one may tell another."""
    run.job_at, run.job_tie, _ = stamp
    if run.job != job.id:
        left, run.job = job_row(commit, run.job), job.id
        move_edges(commit, run, left, job)
        if run.version is not None:
            run.version = job_version(commit, job, run)


def _set_first_parent(commit: Commit, run: RunRow, event: Event, *, is_new: bool = False) -> None:
    """Note the parent that a run's first event names; runs of streaming jobs have none."""
    before, run.first_parent = run.first_parent, None
    if not is_streaming(event.job_facets):
        facet: ParentFacet | None = read_strictly(event.run_facets, "parent", "run")
        if facet is not None and UUID(facet.run.run_id) != event.run:
            run.first_parent = UUID(facet.run.run_id).bytes
    if run.first_parent != before and not is_new:
        commit.session.run(_SET_PARENT, run.first_parent, run.id)


def _read_facets(run: RunRow, event: Event, stamp: Stamp) -> None:
    facets = event.run_facets
    if is_latest(run.facets, "headwater_lease", stamp):
        lease: LeaseFacet | None = read_strictly(facets, "headwater_lease", "run")
        seconds = min(lease.seconds, _LONGEST_LEASE) if lease else 0
        run.lease = int(seconds * 1_000_000) if seconds > 0 else None
    if is_latest(run.facets, "nominalTime", stamp):
        run.nominal_start = _time_of(text_of(facets, "nominalTime", "nominalStartTime"))
        run.nominal_end = _time_of(text_of(facets, "nominalTime", "nominalEndTime"))


def _parent(commit: Commit, run: RunRow, event: Event, stamp: Stamp, job: JobRow) -> None:
    facet: ParentFacet | None = read_strictly(event.run_facets, "parent", "run")
    parent = None
    if facet is not None and UUID(facet.run.run_id) != event.run:
        parent_job = find_job(commit, facet.job.namespace, facet.job.name, event.time)
        parent = _parent_run(commit, facet.run.run_id, parent_job, stamp)
        _child(commit, job, parent_job, event.time)
        root = facet.root
        if root and root.run and root.job and UUID(root.run.run_id) != UUID(facet.run.run_id):
            root_job = find_job(commit, root.job.namespace, root.job.name, event.time)
            above = _parent_run(commit, root.run.run_id, root_job, stamp)
            _root(commit, parent, parent_job, above, root_job)
    if is_latest(run.facets, "parent", stamp):
        _put_under(commit, run, parent)


def _parent_run(commit: Commit, run_id: str, job: JobRow, stamp: Stamp) -> RunRow:
    """A run that another one names; until it sends events itself, the first to name it counts."""
    run = find_run(commit, UUID(run_id), job.id, *stamp[:2])
    if not run.own and stamp[:2] < (run.job_at, run.job_tie):
        run.job = job.id
        run.job_at, run.job_tie, _ = stamp
    commit.parents.add(run.id)
    return run


def _put_under(commit: Commit, run: RunRow, parent: RunRow | None) -> None:
    if run.parent is not None:
        commit.parents.add(run.parent)
    run.parent = None if parent is None else parent.id
    if parent is not None:
        commit.cache.run_parents.add(parent.id)
    commit.changed_runs.add(run.id)
    commit.ended.add(run.id if parent is None else parent.id)


def _child(commit: Commit, job: JobRow, parent: JobRow, time: int) -> None:
    """Note a job's parent; the last that was told counts, of one instant the greater name."""
    if job.id == parent.id or time < job.parent_at:
        return
    if time == job.parent_at and _name(commit, job.parent) > _name(commit, parent.id):
        return
    job.parent, job.parent_at = parent.id, time


def _root(
    commit: Commit, parent: RunRow, parent_job: JobRow, root: RunRow, root_job: JobRow
) -> None:
    """Put a parent under the root that a child told, unless it has told its own parent.

    Where children differ the least counts: they should not, and no order may decide.
    """
    if "parent" not in parent.facets:
        above = None if parent.parent is None else run_row(commit, parent.parent)
        if above is None or root.uuid < above.uuid:
            _put_under(commit, parent, root)
    if parent_job.parent_at == NEVER and parent_job.id != root_job.id:
        known = parent_job.parent
        if known is None or _name(commit, root_job.id) < _name(commit, known):
            parent_job.parent = root_job.id


def _name(commit: Commit, job: int | None) -> tuple[str, str]:
    return ("", "") if job is None else job_name(commit, job)


def settle_sides(commit: Commit, run: RunRow, event: Event) -> None:
    """Work out since when the run defines its job's inputs, and its outputs."""
    named = first_named(commit, run.id).items()
    inputs = min([since for (io, _), since in named if io == INPUT], default=None)
    outputs = min([since for (io, _), since in named if io == OUTPUT], default=None)
    ended: int | None = None
    if run.state == DECLARATION:
        ended = event.time
    elif inputs != outputs:
        ended = first_completion(commit, run, event)
    run.defines_inputs_since = _defines_since(inputs, outputs, ended)
    run.defines_outputs_since = _defines_since(outputs, inputs, ended)
    commit.changed_runs.add(run.id)


def job_version(commit: Commit, job: JobRow, run: RunRow) -> bytes:
    """A digest of what the run read and wrote: runs with one digest are one job version."""
    sides = frozenset((io, d) for io, d, _ in run_ios(commit, run.id) if io != MAPPED)
    known = commit.cache.job_versions.get(job.id)
    if known is None or known[0] != sides:
        known = commit.cache.job_versions[job.id] = sides, _version_of(commit, job, sides)
    return known[1]


def _version_of(commit: Commit, job: JobRow, sides: frozenset[tuple[int, int]]) -> bytes:
    rows = dataset_rows(commit, [dataset for _, dataset in sides])
    names = sorted(
        (io, namespace_name(commit, row.namespace), row.name)
        for (io, _), row in zip(sides, rows, strict=True)
    )
    text = "\0".join(f"{io}\0{place}\0{name}" for io, place, name in names)
    whole = f"{namespace_name(commit, job.namespace)}\0{job.name}\0{text}"
    return xxh3_128_digest(whole.encode())


def _defines_since(named: int | None, other: int | None, ended: int | None) -> int | None:
    """When a run begins to define a side: it names it, or completes having named the other.

    Whichever is first, so that what came later does not change what was true before.
    """
    if ended is None or other is None:
        return named
    silent = max(ended, other)
    return silent if named is None else min(named, silent)


def _time_of(text: str | None) -> int | None:
    try:
        return parse_moment(text) if text else None
    except (ValueError, OverflowError):
        return None
