"""Applies events to the rows they name, and works out at the end of a commit what follows.

Every change is a minimum, a maximum or the word of the latest event by its own time, so
that any order of the same events, with any repeats, ends in the same rows.
"""

from headwater.openlineage.events import Event
from headwater.openlineage.facets import is_streaming, text_of
from headwater.openlineage.lifecycle import RunState
from headwater.openlineage.names import JobName
from headwater.openlineage.times import now
from headwater.server.store.aliases import settle_contested, settle_joined
from headwater.server.store.apply_datasets import EventFacts, apply_mapped, apply_side, renamed
from headwater.server.store.apply_runs import apply_run, job_version, settle_sides
from headwater.server.store.commit import Commit
from headwater.server.store.database import among
from headwater.server.store.datasets import other_names, root_names
from headwater.server.store.edges import settle_edges, update_edges
from headwater.server.store.facet_tags import JOB, record_tags
from headwater.server.store.feed import pack_rows
from headwater.server.store.jobs import find_job, job_name, job_row
from headwater.server.store.rows import JobRow, Stamp, is_latest, record_facets
from headwater.server.store.run_owners import covered_text, require_own_runs
from headwater.server.store.run_trees import settle_children, settle_parents
from headwater.server.store.runs import first_named, read_runs, run_ios
from headwater.server.store.snapshots import record_snapshots
from headwater.server.store.tables import DECLARED, INPUT, OUTPUT, insert
from headwater.server.store.written import settle_written

_ADD_FEED = insert("feed")
_Ids = tuple[int | None, int | None]


def read_ahead(commit: Commit, events: list[Event]) -> None:
    """Read at once what each of the events of a commit needs."""
    digests = [event.digest for event in events]
    found = among(commit.session, "SELECT digest FROM event WHERE digest IN", digests)
    commit.stored.update(bytes(digest) for (digest,) in found)
    read_runs(commit, {event.run.bytes for event in events if event.run})


def store_events(commit: Commit, events: list[Event]) -> int:
    """Store and apply events; tell how many were new.

    Those dated later than the clock and the tolerance are not applied yet: they are deferred.
    """
    cache, received, stored = commit.cache, now(), 0
    for event in events:
        if event.digest in commit.stored:
            continue
        require_own_runs(commit, event)
        commit.stored.add(event.digest)
        seq = cache.new_id("event")
        if event.time > received + commit.tolerance:
            commit.add("deferred", event.time, seq, covered_text(event))
            run, job = 0 if event.run else None, 0 if event.job else None
        else:
            run, job = _apply(commit, event, seq, received)
        base, body = cache.compressor.pack(job or 0, event.kind, seq, event.raw, received)
        commit.add(
            "event", seq, event.digest, event.time, received, event.kind.value, run, job, base, body
        )
        stored += 1
    return stored


def apply_deferred(commit: Commit, seq: int, event: Event) -> bool:
    """Apply a stored event whose time has come; False if another server did that.

    Raises: RunOfAnother.
    """
    session = commit.session
    if not session.all("SELECT 1 FROM deferred WHERE time = ? AND seq = ?", event.time, seq):
        return False
    require_own_runs(commit, event)
    run, job = _apply(commit, event, seq, now())
    session.run("UPDATE event SET run = ?, job = ? WHERE seq = ?", run, job, seq)
    session.run("DELETE FROM deferred WHERE time = ? AND seq = ?", event.time, seq)
    return True


def _apply(commit: Commit, event: Event, seq: int, received: int) -> _Ids:
    """Apply one event; give the ids of its run and job."""
    commit.restores = event.restores
    ids = _apply_parts(commit, event, (event.time, event.tie, seq), received)
    commit.restores = None
    return ids


def _apply_parts(commit: Commit, event: Event, stamp: Stamp, received: int) -> _Ids:
    if event.dataset is not None:
        apply_side(commit, EventFacts(stamp), [event.dataset], DECLARED)
        return None, None
    assert event.job is not None  # noqa: S101 -- read_event sees to it
    job = find_job(commit, *event.job, event.time)
    _apply_job(job, event, stamp)
    record_tags(commit, JOB, job.id, event.job_facets, job.facets, stamp)
    run, snapshots = apply_run(commit, job, event, stamp, received)
    home, ios = job_row(commit, run.job), run_ios(commit, run.id)
    facts, known = EventFacts(stamp, job, run, ios, first_named(commit, run.id)), len(ios)
    inputs = apply_side(commit, facts, [*event.inputs, *renamed(event)], INPUT)
    outputs = apply_side(commit, facts, event.outputs, OUTPUT)
    if snapshots or len(ios) > known:
        covered = None if event.runs_of is None else covered_text(event)
        rows = [(one, stamp[2], run.id, covered) for one in snapshots]
        record_snapshots(commit, run, rows, has_more=len(ios) > known)
    inputs = apply_mapped(commit, facts, inputs)
    settle_sides(commit, run, event)
    update_edges(commit, home, run, inputs)
    update_edges(commit, home, run, outputs)
    if event.outputs and run.state == RunState.FAILED:
        settle_written(commit, run)
    if len(ios) > known:
        run.version = job_version(commit, home, run)
    # What was out of order was written on the way, and these changed since.
    commit.changed_jobs.add(home.id)
    commit.changed_runs.add(run.id)
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


def settle(commit: Commit) -> None:
    """Work out what follows from all that was applied, and write it."""
    settle_edges(commit)
    settle_joined(commit)
    settle_contested(commit)
    settle_children(commit)
    settle_parents(commit)
    commit.flush()


def write_feed(commit: Commit) -> bool:
    """Write what changed for those who watch; tell if anything did."""
    feed, next_id = commit.feed, commit.cache.next_id
    jobs = {job: JobName(*job_name(commit, job)) for job in feed.jobs}
    entries = feed.finish(
        jobs, root_names(commit, feed.datasets), other_names(commit, feed.datasets)
    )
    if not entries:
        return False
    commit.session.many(_ADD_FEED, [*pack_rows(entries, next_id["feed"])])
    next_id["feed"] += len(entries)
    return True
