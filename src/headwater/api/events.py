"""Raw events, and what became of those that were sent."""

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from headwater.api.base import Answer, Facets


class EventRun(Struct, rename="camel"):
    """The run of an event."""

    run_id: str
    facets: Facets | UnsetType | None = UNSET


class EventPart(Struct):
    """The job or a dataset of an event."""

    namespace: str
    name: str
    facets: Facets | UnsetType | None = UNSET


class LineageEvent(Struct, rename="camel"):
    """An OpenLineage event as it came; a dataset event has a dataset, a job event no run."""

    event_time: str
    event_type: str | UnsetType | None = UNSET
    producer: str | UnsetType | None = UNSET
    run: EventRun | UnsetType | None = UNSET
    job: EventPart | UnsetType | None = UNSET
    dataset: EventPart | UnsetType | None = UNSET
    inputs: list[EventPart] | UnsetType | None = UNSET
    outputs: list[EventPart] | UnsetType | None = UNSET


class EventPage(Answer):
    """Raw events, by event time."""

    total_count: int
    events: list[LineageEvent]


class FoundEvents(Answer):
    """Events that contain a text: how many were looked at, and where to go on."""

    looked: int
    next: str | None
    reached: datetime | None
    events: list[LineageEvent]


class EventResult(Answer):
    """What became of an event."""

    status: int
    errors: list[str] | UnsetType = UNSET


class EventResults(Answer):
    """What became of events that were sent together."""

    received: int
    stored: int
    results: list[EventResult]
