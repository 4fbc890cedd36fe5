"""What a job reads and writes over time.

Inputs and outputs are two sides, each with its own history. On each side the run that last
began to name datasets defines the job, together with the runs that it adds up with
(`RunRow.group`), with all that they have named so far. A run that completes without naming a
side defines that side too: it has none.
"""

from typing import NamedTuple

from headwater.openlineage.times import FOREVER
from headwater.server.store.commit import Commit
from headwater.server.store.edge_rebuilds import INSERT, define, open_edges, rebuild
from headwater.server.store.feed import EDGE_ADDED, EDGE_REMOVED
from headwater.server.store.jobs import job_row
from headwater.server.store.rows import JobRow, RunRow
from headwater.server.store.runs import run_row
from headwater.server.store.tables import INPUT, OUTPUT

_CLOSE = (
    "UPDATE edge SET until = ? WHERE job = ? AND io = ? AND dataset = ? "
    f"AND until = {FOREVER}"
)  # fmt: skip


class Change(NamedTuple):
    """What an event changed of a run on one side.

    `named` has, of each dataset that is new to the run or is now known to have been named
    earlier, when it was first named; `before` is when the run began to define the side, as known
    until now.
    """

    io: int
    named: dict[int, int]
    renamed: bool
    before: int | None


def update_edges(commit: Commit, job: JobRow, run: RunRow, change: Change) -> None:
    """Bring the job's edges of one side up to date."""
    since = run.defines_since(change.io)
    if not change.named and since == change.before:
        return
    current, current_since, seen = _current(job, change.io)
    starts = set(change.named.values())
    is_awaited = (job.id, change.io) in commit.rebuilds
    if not change.renamed and since is not None and not is_awaited:
        is_together = current is not None and run_row(commit, current).group == run.group
        # At the very moment of another change there may be an edge to join with.
        if is_together and since == change.before and min(starts, default=FOREVER) > seen:
            _open(commit, job, change.io, change.named)
            define(job, change.io, current, current_since, max(starts, default=seen))
            return
        begins = change.before is None and starts <= {since} and since > seen
        if begins and (current_since is None or since > current_since):
            if is_together:
                _open(commit, job, change.io, change.named)
            elif not _defined_before(commit, job, change.io, run):
                _replace(commit, job, change.io, set(change.named), since)
            else:
                _rebuild_later(commit, job, change.io, since)
                return
            define(job, change.io, run.id, since, since)
            return
    times = [*starts, *(t for t in (since, change.before) if t is not None)]
    _rebuild_later(commit, job, change.io, min(times))


def move_edges(commit: Commit, run: RunRow, left: JobRow, joined: JobRow) -> None:
    """Bring the edges of two jobs up to date when a run turns out to be of the other."""
    for io, since in ((INPUT, run.defines_inputs_since), (OUTPUT, run.defines_outputs_since)):
        if since is not None:
            commit.changed_runs.add(run.id)
            _rebuild_later(commit, left, io, since)
            _rebuild_later(commit, joined, io, since)
    commit.changed_jobs |= {left.id, joined.id}
    commit.changed_runs.add(run.id)


def regroup_edges(commit: Commit, run: RunRow, job: JobRow) -> None:
    """Bring the edges of a job up to date when a run turns out to add up with others."""
    commit.changed_runs.add(run.id)
    for io, since in ((INPUT, run.defines_inputs_since), (OUTPUT, run.defines_outputs_since)):
        if since is not None:
            _rebuild_later(commit, job, io, since)
    commit.changed_jobs.add(job.id)


def settle_edges(commit: Commit) -> None:
    """Make edges anew where events of a commit arrived out of order: each side of a job once."""
    rebuilds, commit.rebuilds = commit.rebuilds, {}
    for (number, io), moment in rebuilds.items():
        job = job_row(commit, number)
        rebuild(commit, job, io, moment)
        commit.changed_jobs.add(number)


def _rebuild_later(commit: Commit, job: JobRow, io: int, moment: int) -> None:
    """Have the edges of a side made anew from a moment on, when the commit is settled."""
    key = job.id, io
    commit.rebuilds[key] = min(moment, commit.rebuilds.get(key, moment))


def _defined_before(commit: Commit, job: JobRow, io: int, run: RunRow) -> bool:
    """Whether a run that this one adds up with has named datasets: they count again."""
    if run.first_parent is None:
        return False
    commit.flush()
    column = "in_since" if io == INPUT else "out_since"
    rows = commit.session.all(
        f"SELECT 1 FROM run WHERE first_parent = ? AND job = ? AND {column} IS NOT NULL "
        "AND id <> ? LIMIT 1", run.first_parent, job.id, run.id,
    )  # fmt: skip
    return bool(rows)


def _current(job: JobRow, io: int) -> tuple[int | None, int | None, int]:
    if io == INPUT:
        return job.inputs_run, job.inputs_since, job.inputs_seen
    return job.outputs_run, job.outputs_since, job.outputs_seen


def _open(commit: Commit, job: JobRow, io: int, named: dict[int, int]) -> None:
    edges = open_edges(commit, job.id, io)
    new = [(job.id, io, d, since, FOREVER) for d, since in named.items() if d not in edges]
    if not new:
        return
    commit.session.many(INSERT, new)
    edges.update({row[2]: row[3] for row in new})
    for _, _, dataset, since, _ in new:
        commit.feed.graph(EDGE_ADDED, since, job=job.id, dataset=dataset)


def _replace(commit: Commit, job: JobRow, io: int, datasets: set[int], since: int) -> None:
    edges = open_edges(commit, job.id, io)
    for dataset in edges.keys() - datasets:
        commit.session.run(_CLOSE, since, job.id, io, dataset)
        commit.feed.graph(EDGE_REMOVED, since, job=job.id, dataset=dataset)
        del edges[dataset]
    _open(commit, job, io, dict.fromkeys(datasets, since))
