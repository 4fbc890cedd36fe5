"""OpenLineage events as plain JSON values: what is spooled, and what goes out."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from headwater.openlineage.lifecycle import EventType
from headwater.openlineage.names import JobName
from headwater.version import __version__

PRODUCER = f"urn:headwater:capture:{__version__}"

Facets = Mapping[str, Any]
Event = dict[str, Any]


class RunName(Struct, frozen=True):
    """One run of a job."""

    run_id: str
    job: JobName


def run_event(
    event_type: EventType,
    run: RunName,
    *,
    at: datetime | None = None,
    run_facets: Facets | None = None,
    job_facets: Facets | None = None,
    inputs: Iterable[Event] = (),
    outputs: Iterable[Event] = (),
) -> Event:
    """One event about a run."""
    return {
        "eventType": event_type.value,
        "eventTime": (at or datetime.now(UTC)).isoformat(timespec="microseconds"),
        "producer": PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run.run_id, "facets": dict(run_facets or {})},
        "job": {
            "namespace": run.job.namespace,
            "name": run.job.name,
            "facets": dict(job_facets or {}),
        },
        "inputs": list(inputs),
        "outputs": list(outputs),
    }


def is_heartbeat(event: Event) -> bool:
    """Whether an event may be lost: it only says that a run goes on."""
    return event["eventType"] == EventType.RUNNING and not event["inputs"] and not event["outputs"]


def snake(name: str) -> str:
    """`OverwriteByExpression` as `overwrite_by_expression`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return word(spaced).lower()


def word(text: str) -> str:
    """Any text as one word of a job's name."""
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def tail(path: str) -> str:
    """The last two parts of a path, as one word."""
    return word("_".join(path.strip("/").split("/")[-2:]))
