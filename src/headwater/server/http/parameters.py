"""The parameters of all routes, and the most that each may ask for.

Every route takes its parameters from here; a test reads the API's description and finds none
without a bound.
"""

from typing import Annotated

from litestar.params import HeaderParameter, PathParameter, QueryParameter
from msgspec import Meta

from headwater.openlineage.events import MAX_NAME

MOST_ITEMS = 10_000  # of one list; it is sent in parts
_MOST_DEPTH = 10_000
_MOST_NODES = 20_000
_MOST_OFFSET = 2**31 - 1  # what every database can hold
_ESCAPED = 12  # bytes of a character in a path, at most: %F0%9F%8C%8A
_NODE = 4 * MAX_NAME + 64  # kind, namespace, name, field and version
_WORD = 128
_TIME = 64

PathText = Annotated[str, PathParameter(max_length=_ESCAPED * MAX_NAME)]

Limit = Annotated[int, QueryParameter(ge=0, le=MOST_ITEMS, description="Maximum number of results")]
ShortLimit = Annotated[int, QueryParameter(ge=1, le=200, description="Maximum number of results")]
EachLimit = Annotated[
    int, QueryParameter(ge=1, le=100, description="Maximum number of messages per partition")
]
NodeLimit = Annotated[
    int, QueryParameter(ge=0, le=_MOST_NODES, description="Maximum number of nodes")
]
Offset = Annotated[
    int, QueryParameter(ge=0, le=_MOST_OFFSET, description="Number of results to skip")
]
Partition = Annotated[int, QueryParameter(ge=0, le=2**31 - 1, description="A Kafka partition")]
PartitionOrAll = Annotated[
    int, QueryParameter(ge=-1, le=2**31 - 1, description="A Kafka partition; -1 for all")
]
_Offset = Annotated[int, QueryParameter(ge=0, le=2**62), Meta(ge=0, le=2**62)]
Offsets = Annotated[
    list[_Offset] | None, QueryParameter(max_items=200, description="Offsets of the partition")
]
FirstOffset = Annotated[
    int, QueryParameter(name="firstOffset", ge=0, le=2**62, description="The first record")
]
LastOffset = Annotated[
    int, QueryParameter(name="lastOffset", ge=0, le=2**62, description="The last record")
]
SnapshotId = Annotated[str, QueryParameter(max_length=_WORD, description="A snapshot's id")]
Depth = Annotated[
    int, QueryParameter(ge=-_MOST_DEPTH, le=_MOST_DEPTH, description="Maximum distance")
]
_NODE_FORMS = "dataset:NAMESPACE:NAME, job:NAMESPACE:NAME or datasetField:NAMESPACE:NAME:FIELD"
Node = Annotated[str, QueryParameter(name="nodeId", max_length=_NODE, description=_NODE_FORMS)]
OptionalNode = Annotated[
    str | None,
    QueryParameter(
        name="nodeId",
        max_length=_NODE,
        description=f"{_NODE_FORMS}; default: the whole graph",
    ),
]
Detail = Annotated[bool, QueryParameter(description="Include details that Marquez does not return")]
ByParent = Annotated[bool, QueryParameter(name="aggregateByParentRun")]
WithDownstream = Annotated[bool, QueryParameter(name="withDownstream")]

AsOf = Annotated[
    str | None,
    QueryParameter(name="asOf", max_length=_TIME, description="Return the graph at this time"),
]
Watermark = Annotated[
    str | None,
    QueryParameter(max_length=_TIME, description="Where state may begin: see the description"),
]
From = Annotated[
    str | None, QueryParameter(name="from", max_length=_TIME, description="After this time")
]
To = Annotated[
    str | None,
    QueryParameter(name="to", max_length=_TIME, description="Up to this time; default: now"),
]
Time = Annotated[str | None, QueryParameter(max_length=_TIME)]

Text = Annotated[str, QueryParameter(max_length=MAX_NAME)]
OptionalText = Annotated[str | None, QueryParameter(max_length=MAX_NAME)]
Word = Annotated[str, QueryParameter(max_length=_WORD)]
OptionalWord = Annotated[str | None, QueryParameter(max_length=_WORD)]
RunId = Annotated[str, QueryParameter(name="runId", max_length=_WORD)]
OptionalRunId = Annotated[str | None, QueryParameter(name="runId", max_length=_WORD)]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=_WORD)]


def _word(description: str, name: str | None = None) -> QueryParameter:
    return QueryParameter(name=name, max_length=_WORD, description=description)


Mode = Annotated[str | None, _word("cumulative: every edge there ever was")]
Format = Annotated[str | None, _word("json or csv", "format")]
SortDirection = Annotated[str, QueryParameter(name="sortDirection", max_length=_WORD)]
EventKind = Annotated[str, _word("Which events: run, job, dataset or all")]
Next = Annotated[str | None, _word("`next` of the answer before", "from")]
FacetsOf = Annotated[str, QueryParameter(name="type", max_length=_WORD)]
SearchFilter = Annotated[str | None, _word("DATASET, JOB or FIELD", "filter")]
SearchTypes = Annotated[str | None, _word("Some of job, dataset, column and run")]
StreamTypes = Annotated[str | None, _word("Some of run, progress and graph")]

# Both: the one stands in the API's description, the other is what is checked.
_Word = Annotated[str, QueryParameter(max_length=_WORD), Meta(max_length=_WORD)]
_Text = Annotated[str, QueryParameter(max_length=MAX_NAME), Meta(max_length=MAX_NAME)]
States = Annotated[
    list[_Word] | None,
    QueryParameter(name="state", max_items=16, description="Runs in these states"),
]
LastRunStates = Annotated[list[_Word] | None, QueryParameter(name="lastRunStates", max_items=16)]
EventTypes = Annotated[
    list[_Word] | None,
    QueryParameter(name="type", max_items=16, description="START, RUNNING, …"),
]
Names = Annotated[list[_Text] | None, QueryParameter(max_items=1000)]

MOST_BODY = 2**20  # bytes of JSON that is not an event
