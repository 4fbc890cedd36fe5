"""What records of a topic reached, and where a snapshot of a table came from."""

from datetime import datetime

from msgspec import field

from headwater.api.base import Answer
from headwater.api.runs import Offsets


class ReachedRun(Answer):
    """A run that read the records, or may have."""

    run_id: str
    state: str
    since: datetime
    first_batch: int | None
    last_batch: int | None
    exact: bool
    reason: str | None
    read_by: datetime | None  # when it had read them, if it reads the topic and reports that


class ReachedInput(Answer):
    """A dataset by which the records reached a job."""

    node_id: str
    namespace: str
    name: str


class ReachedOutput(Answer):
    """A dataset that holds the records or what was computed from them, since when."""

    node_id: str
    namespace: str
    name: str
    since: datetime
    snapshots: list[str]
    snapshot_count: int


class ReachedJob(Answer):
    """A job whose runs read the records, in the order in which to run things again."""

    node_id: str
    namespace: str
    name: str
    step: int
    exact: bool
    run_count: int
    runs: list[ReachedRun]
    inputs: list[ReachedInput]
    outputs: list[ReachedOutput]


class Reached(Answer):
    """Everything that records of a topic reached, unless it was too much."""

    node_id: str
    partition: int
    first_offset: int
    last_offset: int
    complete: bool
    jobs: list[ReachedJob]
    read_up_to: int | None  # the offset up to which runs have read the partition


class VersionRead(Answer):
    """A dataset that a run read, with the snapshot if the run told it."""

    node_id: str
    namespace: str
    name: str
    snapshot: str | None


class Write(Answer):
    """A run that wrote into a table what a row came from; named by its job."""

    node_id: str
    namespace: str
    name: str
    run_id: str
    state: str
    at: datetime
    batch: int | None
    output: VersionRead
    offsets: Offsets  # an unknown start is the beginning of the partition
    inputs: list[VersionRead]
    exact: bool
    reason: str | None
    stateful: bool = False  # whether it keeps state: then the offsets begin where that may
    committed: Offsets | None = None  # what the batch itself read, of one that keeps state
    settings: dict[str, str] = field(default_factory=dict)  # of its session, never changed


class Why(Answer):
    """The writes behind a snapshot, the one that made it first."""

    node_id: str
    snapshot: str
    complete: bool
    writes: list[Write]
