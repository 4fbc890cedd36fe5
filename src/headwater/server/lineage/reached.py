"""What records of a topic reached: commits, tables, topics and the runs that computed from them.

The jobs that read the topic tell which offsets each of their commits holds. Behind these, a run
that tells the snapshot it read is known to have read them or not; of other runs only the time
tells. What is not exact may hold more than the records, never less.
"""

from typing import NamedTuple

from msgspec import Struct

from headwater.api.records import ReachedInput, ReachedJob, ReachedOutput, ReachedRun
from headwater.openlineage.names import DatasetName, JobName
from headwater.server.lineage.commits import (
    Committed,
    Progress,
    Records,
    Recovered,
    committed,
    furthest,
    recovered,
    snapshots_since,
)
from headwater.server.lineage.jobs import job_names
from headwater.server.lineage.read_versions import SnapshotHistory, versions_told
from headwater.server.lineage.run_io import dataset_names, several_names
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.view import StoreView, moment, uuid_text
from headwater.server.store.rows import RunRow
from headwater.server.store.tables import INPUT, OUTPUT

_MOST_RUNS = 5_000  # that are followed
_MOST_LOOKS = 50_000  # at runs, of which one may read many datasets
_LISTED_SNAPSHOTS = _LISTED_RUNS = 100

_STATE = "it keeps state: later commits may hold the records as well"
_EVENTS = "its reports tell the offsets of several commits together"
_FUNCTION = "it writes tables and reports no snapshots: later ones may hold the records as well"
_SEVERAL = "it writes several tables, and does not report which snapshots are of which"
_UNTOLD = "no run reports these records: this one was killed before it could, or left them out"
_HISTORY = (
    "the snapshot that it read is later, and not known to hold the records: the table was rolled "
    "back, created again, has branches, or its history is not reported"
)
_TIME = "which records it read is not reported: it ran after they had been written"


class Reached(NamedTuple):
    """Everything that the records reached, unless it was too much."""

    jobs: list[ReachedJob]
    is_complete: bool
    ends: dict[str, int]  # how far runs have read the topic, by partition


class _Arrival(Struct):
    """Since when a dataset may hold the records, and the snapshots of it that do."""

    since: int
    snapshots: dict[str, None] = {}
    is_told: bool = True  # whether there are no others, of runs that did not tell theirs

    def lacks(self, since: int, snapshots: list[str]) -> bool:
        """Whether more has to be followed since a run wrote the dataset as well."""
        is_news = not self.snapshots.keys() >= {*snapshots} if snapshots else self.is_told
        return since < self.since or is_news


class _Visit(NamedTuple):
    """A run that read the records: since when, what it made of them, and why that is not exact."""

    run: RunRow
    since: int
    outputs: dict[int, list[str]]  # dataset → its snapshots
    batches: list[int]
    reason: str | None
    until: int | None = None  # when it had read the records, if it read the topic itself


class _Told:
    """What runs committed of the records, told by them or by the next run of their job."""

    def __init__(self) -> None:
        self.by_run: dict[int, Committed] = {}
        self.last: dict[int, RunRow] = {}  # run of each job, of those that came before
        self._snapshots: dict[int, set[str]] = {}  # job → those that are known
        self.untold: set[int] = set()  # runs that the records are laid to, as nobody told of them
        self._until: dict[int, RunRow] = {}  # run of each job, the last that ended before them
        self._passed: set[int] = set()  # jobs that have read on behind the records

    def add(self, run: RunRow, own: Committed | None) -> None:
        """Take what a run tells of itself."""
        if own is not None:
            self.by_run[run.id] = own
            self._snapshots.setdefault(run.job, set()).update(own.snapshots)

    def add_recovered(self, run: RunRow, told: Recovered) -> None:
        """Take what a run tells of the one before it, which was killed before it could do so."""
        known = self._snapshots.setdefault(run.job, set())
        lost = [one for one in told.commits if one.snapshot and one.snapshot not in known]
        if not lost:
            return
        maker = self.last.get(run.job, run)
        own = self.by_run.get(maker.id)
        own = own or Committed(maker.updated_at, [], [], told.is_stateful, True)
        snapshots = [commit.snapshot for commit in lost if commit.snapshot]
        batches = [commit.batch for commit in lost if commit.batch is not None]
        self.by_run[maker.id] = own._replace(
            batches=[*own.batches, *batches], snapshots=[*own.snapshots, *snapshots],
            until=max(own.until or 0, told.at),
        )  # fmt: skip
        known.update(snapshots)

    def note_end(self, run: RunRow, end: int, first: int) -> None:
        """Take how far a run has come, in the order of runs."""
        if end > first:
            self._passed.add(run.job)
        elif end and run.job not in self._passed:
            self._until[run.job] = run

    def add_untold(self, runs: list[RunRow]) -> None:
        """Lay the records to the run that came closest, where its job has read on behind them."""
        told = {run.job for run in runs if run.id in self.by_run}
        for job in (self._passed & self._until.keys()) - told:
            run = self._until[job]
            self.by_run[run.id] = Committed(run.updated_at, [], [], False, False)
            self.untold.add(run.id)

    def add_later(self, runs: list[RunRow]) -> None:
        """Lay the records to later runs of a query with state: each goes on with what was kept."""
        stateful: set[int] = set()
        for run in runs:
            own = self.by_run.get(run.id)
            if own is None and run.job in stateful:
                self.by_run[run.id] = Committed(run.created_at - 1, [], [], True, False)
            elif own is not None and own.is_stateful:
                stateful.add(run.job)


def is_topic(view: StoreView, root: int) -> bool:
    """Whether a dataset has a name of a Kafka topic."""
    members = {row[0] for row in view.session.all("SELECT id FROM dataset WHERE root = ?", root)}
    return any(space.startswith("kafka:") for space, _ in dataset_names(view, members).values())


def reached(view: StoreView, root: int, partition: str, first: int, last: int) -> Reached:
    """Follow the records of a topic's partition from one offset up to another."""
    members = {row[0] for row in view.session.all("SELECT id FROM dataset WHERE root = ?", root)}
    names = [name for _, name in dataset_names(view, members).values()]
    walk = _Walk(view)
    walk.enter(root, Records(frozenset(names), partition, first, last))
    while walk.follow():
        pass
    return Reached(walk.told(), walk.is_complete, walk.ends)


class _Walk:
    """A walk from dataset to dataset, by the runs between them."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._arrivals: dict[int, _Arrival] = {}
        self._waiting: set[int] = set()
        self._looks = 0
        self._visits: dict[int, _Visit] = {}
        self._read: dict[int, set[int]] = {}  # job → the datasets by which it is reached
        self.is_complete = True
        self._progress = Progress(view)

    @property
    def ends(self) -> dict[str, int]:
        """How far runs have read the topic, by partition."""
        return self._progress.ends

    def enter(self, root: int, records: Records) -> None:
        """Begin with the runs that read the topic, by the offsets that they report."""
        self._arrivals[root] = _Arrival(0)
        runs, told = self._readers(root, 0), _Told()
        for run in runs:
            end = furthest(self._view, run, records, self._progress)
            told.note_end(run, end or 0, records.first)
            if (end or 0) > records.first:
                told.add(run, committed(self._view, run, records))
                told.add_recovered(run, recovered(self._view, run, records))
            # One that failed at its start made nothing.
            if end is not None or run.job not in told.last:
                told.last[run.job] = run
        told.add_untold(runs)
        told.add_later(runs)
        for run in runs:
            if run.id in told.by_run:
                visit = _by_offsets(self._view, run, told.by_run[run.id])
                is_untold = run.id in told.untold
                self._visit(visit._replace(reason=_UNTOLD) if is_untold else visit, root)

    def follow(self) -> bool:
        """Go on from the dataset that the records reached first; whether there was any left.

        No run passes records on before it has them: later steps cannot change earlier ones, and
        each dataset is gone on from once, unless an earlier snapshot of it is found.
        """
        if not self._waiting or self._looks > _MOST_LOOKS:
            self.is_complete = self.is_complete and not self._waiting
            return False
        root = min(self._waiting, key=lambda one: (self._arrivals[one].since, one))
        self._waiting.discard(root)
        arrival = self._arrivals[root]
        runs = []
        for run in self._readers(root, arrival.since):
            known = self._visits.get(run.id)
            if known is None or max(arrival.since, run.created_at) < known.since:
                runs.append(run)
            else:
                self._read[run.job].add(root)
        read = versions_told(self._view, root, INPUT, [run.id for run in runs])
        history = SnapshotHistory(self._view, root, arrival.snapshots)
        holds = history.holds(read.values())
        for run in runs:
            has_read = holds.get(read.get(run.id, ""))
            if has_read is False and not arrival.is_told:
                has_read = None
            if has_read is not False and self._has_room(run):
                since = max(arrival.since, run.created_at)
                made = snapshots_since(self._view, run, since - 1)
                outputs = _outputs(self._view, run, made)
                reason = self._doubt(outputs, has_read=has_read, version=read.get(run.id))
                self._visit(_Visit(run, since, outputs, [], reason), root)
        return True

    def _doubt(
        self, outputs: dict[int, list[str]], *, has_read: bool | None, version: str | None
    ) -> str | None:
        """Why a run behind a table may not have read the records, or where it put them."""
        if not has_read:
            return _HISTORY if version else _TIME
        untold = {root for root, snapshots in outputs.items() if not snapshots}
        return _FUNCTION if _writes_tables(self._view, untold) else None

    def _has_room(self, run: RunRow) -> bool:
        if run.id in self._visits or len(self._visits) < _MOST_RUNS:
            return True
        self.is_complete = False
        return False

    def _visit(self, visit: _Visit, root: int) -> None:
        self._read.setdefault(visit.run.job, set()).add(root)
        self._visits[visit.run.id] = visit
        for written, snapshots in visit.outputs.items():
            arrival = self._arrivals.get(written)
            if arrival is None:
                arrival = self._arrivals[written] = _Arrival(visit.since)
                self._waiting.add(written)
            elif arrival.lacks(visit.since, snapshots):
                arrival.since = min(visit.since, arrival.since)
                self._waiting.add(written)
            arrival.is_told = arrival.is_told and bool(snapshots)
            arrival.snapshots.update(dict.fromkeys(snapshots))

    def _readers(self, root: int, since: int) -> list[RunRow]:
        """The runs that read a dataset at a time or later, earliest first."""
        own, params = self._view.scope.has_job("r.job")
        rows = self._view.session.all(
            "SELECT r.* FROM run r WHERE r.id IN (SELECT io.run FROM dataset d "
            "JOIN run_io io ON io.dataset = d.id AND io.io = ? WHERE d.root = ?) "
            f"AND r.{LISTED} AND (r.ended_at IS NULL OR r.ended_at >= ?){own} "
            "ORDER BY r.created_at, r.uuid LIMIT ?", INPUT, root, since, *params, _MOST_RUNS + 1,
        )  # fmt: skip
        self._looks += len(rows)
        if len(rows) > _MOST_RUNS:
            self.is_complete = False
        return [RunRow.of(row) for row in rows[:_MOST_RUNS]]

    def told(self) -> list[ReachedJob]:
        """The jobs in the order in which to run them again."""
        by_job: dict[int, list[_Visit]] = {}
        for visit in self._visits.values():
            by_job.setdefault(visit.run.job, []).append(visit)
        names = job_names(self._view, {*by_job})
        steps = self._steps(by_job)
        found = [self._job(names[job], steps[job], by_job[job]) for job in by_job]
        return sorted(found, key=lambda job: (job.step, job.node_id))

    def _steps(self, by_job: dict[int, list[_Visit]]) -> dict[int, int]:
        """The step of each job, after those of all jobs that write what it read.

        In a circle the job that the records reached first comes first.
        """
        since = {job: min(visit.since for visit in visits) for job, visits in by_job.items()}
        writers: dict[int, set[int]] = {}
        for job, visits in by_job.items():
            for root in {root for visit in visits for root in visit.outputs}:
                writers.setdefault(root, set()).add(job)
        before = {
            job: {w for root in self._read[job] for w in writers.get(root, ())} - {job}
            for job in by_job
        }
        after: dict[int, list[int]] = {}
        for job, others in before.items():
            for other in others:
                after.setdefault(other, []).append(job)
        left = {job: len(others) for job, others in before.items()}
        ready = [job for job, number in left.items() if not number]
        rest = iter(sorted(by_job, key=lambda job: (since[job], job)))
        steps: dict[int, int] = {}
        while len(steps) < len(by_job):
            job = ready.pop() if ready else next(rest)
            if job not in steps:
                steps[job] = 1 + max((steps[w] for w in before[job] if w in steps), default=0)
                for other in after.get(job, ()):
                    left[other] -= 1
                    ready += [] if left[other] else [other]
        return steps

    def _job(self, name: tuple[str, str], step: int, visits: list[_Visit]) -> ReachedJob:
        ordered = sorted(visits, key=lambda visit: (visit.run.created_at, visit.run.uuid))
        return ReachedJob(
            str(JobName(*name)),
            *name,
            step,
            all(visit.reason is None for visit in visits),
            len(visits),
            [_run(visit) for visit in ordered[:_LISTED_RUNS]],
            self._job_inputs(visits[0].run.job),
            self._job_outputs(ordered),
        )

    def _job_inputs(self, job: int) -> list[ReachedInput]:
        names = sorted(dataset_names(self._view, self._read[job]).values())
        return [ReachedInput(str(DatasetName(*name)), *name) for name in names]

    def _job_outputs(self, visits: list[_Visit]) -> list[ReachedOutput]:
        since: dict[int, int] = {}
        snapshots: dict[int, dict[str, None]] = {}
        for visit in visits:
            for root, made in visit.outputs.items():
                since[root] = min(visit.since, since.get(root, visit.since))
                snapshots.setdefault(root, {}).update(dict.fromkeys(made))
        names = dataset_names(self._view, {*since})
        return [
            ReachedOutput(
                str(DatasetName(*names[root])), *names[root], moment(since[root]),
                [*snapshots[root]][:_LISTED_SNAPSHOTS], len(snapshots[root]),
            )
            for root in sorted(since, key=lambda one: names[one])
        ]  # fmt: skip


def _outputs(view: StoreView, run: RunRow, snapshots: list[str]) -> dict[int, list[str]]:
    """What a run wrote, each with snapshots: those it reported, else the version that it told.

    A report does not say of which table a snapshot is: with several tables it is not known.
    """
    rows = view.session.all(
        "SELECT DISTINCT d.root FROM run_io io JOIN dataset d ON d.id = io.dataset "
        "WHERE io.run = ? AND io.io = ? ORDER BY d.root", run.id, OUTPUT,
    )  # fmt: skip
    roots = [root for (root,) in rows]
    tables = _not_topics(view, {*roots})
    found = {}
    for root in roots:
        version = versions_told(view, root, OUTPUT, [run.id]).get(run.id)
        is_own = len(tables) == 1 and root in tables
        found[root] = snapshots if snapshots and is_own else [version] if version else []
    return found


def _by_offsets(view: StoreView, run: RunRow, told: Committed) -> _Visit:
    """What a run told of the records themselves."""
    reason, snapshots = None, told.snapshots
    if told.is_stateful:
        reason, snapshots = _STATE, snapshots_since(view, run, told.since)
    elif not told.is_per_commit:
        reason = _EVENTS
    outputs = _outputs(view, run, snapshots)
    if reason is None and snapshots and len(_not_topics(view, {*outputs})) > 1:
        reason = _SEVERAL
    elif reason is None and _writes_tables(view, {root for root in outputs if not outputs[root]}):
        reason = _FUNCTION
    return _Visit(run, told.since, outputs, told.batches, reason, told.until)


def _not_topics(view: StoreView, roots: set[int]) -> set[int]:
    names = dataset_names(view, roots)
    return {root for root in roots if not names[root][0].startswith("kafka:")}


def _writes_tables(view: StoreView, roots: set[int]) -> bool:
    """Whether some datasets are tables, which have names beside that of their folder."""
    names = dataset_names(view, several_names(view, view.names.own(roots))) if roots else {}
    return any(not namespace.startswith("kafka:") for namespace, _ in names.values())


def _run(visit: _Visit) -> ReachedRun:
    return ReachedRun(
        uuid_text(visit.run.uuid),
        visit.run.state,
        moment(visit.since),
        min(visit.batches, default=None),
        max(visit.batches, default=None),
        visit.reason is None,
        visit.reason,
        None if visit.until is None else moment(visit.until),
    )
