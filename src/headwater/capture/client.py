"""openlineage-python: any of its transports, configured by a URL or in its own ways."""

from typing import Any

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

from headwater.capture.events import Event
from headwater.capture.settings import Settings


class OpenLineage:
    """Delivers events through openlineage-python."""

    def __init__(self, settings: Settings) -> None:
        self._client = make_client(settings)

    def emit(self, event: Event) -> None:
        """Send one event; raises whatever the transport raises."""
        self._client.emit(to_client(event))


def make_client(settings: Settings) -> OpenLineageClient:
    """A client: by URL if one is set, else by openlineage-python's own configuration."""
    if settings.url is None:
        return OpenLineageClient()
    transport: dict[str, Any] = {"type": "http", "url": settings.url, "retry": {"total": 0}}
    if settings.api_key:
        transport["auth"] = {"type": "api_key", "apiKey": settings.api_key}
    return OpenLineageClient(config={"transport": transport})


def to_client(event: Event) -> RunEvent:
    """The event in the form that openlineage-python's transports take.

    The client adds facets of its own, which are not to be those of an event that still waits.
    """
    return RunEvent(
        eventType=RunState(event["eventType"]),
        eventTime=event["eventTime"],
        producer=event["producer"],
        run=Run(event["run"]["runId"], dict(event["run"]["facets"])),
        job=Job(event["job"]["namespace"], event["job"]["name"], dict(event["job"]["facets"])),
        inputs=[InputDataset(**dataset) for dataset in event["inputs"]],
        outputs=[OutputDataset(**dataset) for dataset in event["outputs"]],
    )
