"""What the commands read of a lineage server's answers; whatever else is in them is passed over."""

from datetime import datetime
from typing import Any

from msgspec import Raw, Struct, field


class Name(Struct, frozen=True):
    """A job's or dataset's name."""

    namespace: str
    name: str


class RunInput(Struct):
    """What a run reports of a dataset that it read."""

    facets: dict[str, Raw] = field(default_factory=dict)


class Run(Struct, rename="camel"):
    """A run of a job."""

    id: str
    state: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_ms: int | None = None
    facets: dict[str, Any] = field(default_factory=dict)
    input_dataset_versions: list[RunInput] = []

    def told(self, facet: str, name: str) -> str:
        """A text of a facet; nothing where a producer sent something else."""
        found = self.facets.get(facet)
        text = found.get(name) if isinstance(found, dict) else None
        return text if isinstance(text, str) else ""


class Job(Struct, rename="camel"):
    """A job with its last run, as it came."""

    id: Name
    latest_run: Raw = Raw(b"null")


class JobPage(Struct):
    """A page of jobs."""

    jobs: list[Job]


class RunPage(Struct):
    """A page of runs, as they came."""

    runs: list[Raw]


class ListedRun(Struct):
    """A run as it came, and the job it is one of."""

    job: Name
    run: Raw


class ListedRunPage(Struct):
    """A page of the runs of all jobs."""

    runs: list[ListedRun]


class EventPage(Struct):
    """A page of events, as they came."""

    events: list[Raw]


class Edge(Struct):
    """An edge of a graph, between node ids."""

    origin: str
    destination: str


class RunBrief(Struct):
    """The last run of a job, as its node tells it."""

    state: str


class NodeData(Struct, rename="camel"):
    """What a node of a job or dataset says of it; what does not apply is empty."""

    namespace: str
    name: str
    type: str = ""
    parent_job_name: str | None = None
    latest_run: RunBrief | None = None
    fields: list[Raw] | None = None
    last_lifecycle_state: str | None = None


class GraphNode(Struct, rename="camel"):
    """A job or a dataset in a graph."""

    id: str
    type: str
    data: NodeData
    in_edges: list[Edge] = []
    out_edges: list[Edge] = []


class Transformation(Struct):
    """What happens to a column on its way into another."""

    type: str | None = None
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


class InputField(Struct, rename="camel"):
    """A column that another one comes from, how, and by which job."""

    namespace: str
    dataset: str
    field: str
    transformation_type: str | None = None
    transformation_description: str | None = None
    transformations: list[Transformation] = []
    job: Name | None = None


class FieldData(Struct, rename="camel"):
    """What a node of a column says of it."""

    namespace: str
    dataset: str
    field: str
    field_type: str = ""
    input_fields: list[InputField] = []


class FieldNode(Struct):
    """A column in a graph."""

    id: str
    data: FieldData


class RawGraph(Struct):
    """A graph, its nodes as they came."""

    graph: list[Raw]


class Meant(Struct, rename="camel"):
    """Something that a name means; `label` is a short name that means only this."""

    type: str
    node_id: str
    name: str
    namespace: str
    label: str
    field: str | None = None

    @property
    def place(self) -> Name:
        """The name of the job or dataset."""
        return Name(self.namespace, self.name)


class Resolution(Struct):
    """What a name means, and what else it could mean."""

    node: Meant | None
    others: list[Meant]
    total: int
    suggestions: list[str]


class EventRun(Struct, rename="camel"):
    """The run of an event."""

    run_id: str


class EventBody(Struct, rename="camel"):
    """What one line tells of an event; a dataset event has a dataset, a job event no run."""

    event_time: str
    event_type: str | None = None
    run: EventRun | None = None
    job: Name | None = None
    dataset: Name | None = None
    inputs: list[Raw] | None = None
    outputs: list[Raw] | None = None


class Failure(Struct):
    """Why a request was refused."""

    message: str = ""
    errors: list[str] = []
