"""Runs, what they read and wrote, and the runs beside them."""

from datetime import datetime
from typing import Any, TypedDict

from headwater.api.base import Answer, Facets, Name, VersionedName

OffsetRange = TypedDict("OffsetRange", {"from": int | None, "to": int | None})
Offsets = dict[str, dict[str, OffsetRange]]  # topic → partition → from and to


class RunDataset(Answer):
    """A dataset version that a run read or wrote."""

    dataset_version_id: VersionedName
    facets: Facets


class Run(Answer):
    """A run of a job."""

    id: str
    created_at: datetime
    updated_at: datetime
    nominal_start_time: datetime | None
    nominal_end_time: datetime | None
    state: str
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    args: dict[str, Any]
    job_version: VersionedName | None
    input_dataset_versions: list[RunDataset]
    output_dataset_versions: list[RunDataset]
    facets: Facets


class RunPage(Answer):
    """Runs of a job, latest first."""

    runs: list[Run]
    total_count: int


class ListedRun(Answer):
    """A run, the job it is one of, and its tags."""

    job: Name
    run: Run
    tags: list[str]


class ListedRunPage(Answer):
    """Runs of all jobs, latest first."""

    runs: list[ListedRun]
    total_count: int


class RunFacets(Answer):
    """The facets of a run, or of its job at that time."""

    run_id: str
    facets: Facets


class RunTry(Answer):
    """One try of a run."""

    state: str
    started_at: datetime | None
    ended_at: datetime | None


class RunTries(Answer):
    """The tries of a run, the last one last."""

    run_id: str
    tries: list[RunTry]


class RunSide(Answer):
    """A dataset that a run read or wrote, with offsets and snapshots as far as they are known."""

    node_id: str
    version: str | None
    offsets: dict[str, OffsetRange] | None
    snapshots: list[str]


class AdjacentRun(Answer):
    """A run that wrote what another read, or read what it wrote, and the dataset between them."""

    run_id: str
    job: Name
    via: str


class RunLineage(Answer):
    """What a run read and wrote, and the runs before and after it."""

    run: Run
    inputs: list[RunSide]
    outputs: list[RunSide]
    upstream_runs: list[AdjacentRun]
    downstream_runs: list[AdjacentRun]


class UpstreamJob(Answer):
    """The job of a run upstream, with its version if it has one."""

    namespace: str
    name: str
    version: str | None


class UpstreamState(Answer):
    """When a run upstream ran, and how it went."""

    id: str
    start: datetime | None
    end: datetime | None
    status: str


class UpstreamInput(Answer):
    """What a run upstream read, and the run that wrote it."""

    namespace: str
    name: str
    version: str | None
    produced_by_run_id: str | None


class UpstreamRun(Answer):
    """A run upstream of another."""

    job: UpstreamJob
    run: UpstreamState
    inputs: list[UpstreamInput]


class UpstreamRuns(Answer):
    """A run and those upstream of it, nearest first."""

    runs: list[UpstreamRun]


class ProgressPoint(Answer):
    """How fast a run was at a moment, and how far behind."""

    at: datetime
    rows: int
    rows_per_second: float | None
    lag_rows: float | None


class RunProgress(Answer):
    """The progress of a streaming run, oldest first."""

    points: list[ProgressPoint]
