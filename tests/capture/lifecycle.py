"""The life-cycle matrix: what a server was told of each ending, and the page it stands in."""

from typing import Any, NamedTuple

from capture.published import Table
from server.api import Api

TABLE = Table(
    "lifecycle.md", "How it ends", "Streaming query", "foreachBatch", "Batch write", "Application"
)
_NONE = "none"


class Ending(NamedTuple):
    """One row: the ending in words, and what arrived of each kind."""

    words: str
    told: tuple[str, ...]

    def agrees_with(self, cells: list[str]) -> bool:
        """Whether a row of the page says the same; some cells there allow either of two."""
        if len(cells) != len(self.told):
            return False
        return all(told in cell.split(" or ") for cell, told in zip(cells, self.told, strict=True))


def events(api: Api) -> list[dict[str, Any]]:
    """Every event of the server, oldest first."""
    found: list[dict[str, Any]] = api.get("/events/lineage", limit=1000)["events"]
    return sorted(found, key=lambda event: str(event["eventTime"]))


def of_job(told: list[dict[str, Any]], namespace: str, ending: str) -> list[dict[str, Any]]:
    """The events of the one job in a namespace whose name ends so."""
    return [
        event
        for event in told
        if event["job"]["namespace"] == namespace and event["job"]["name"].endswith(ending)
    ]


def cell(told: list[dict[str, Any]]) -> str:
    """The types of one job's events, run by run; heartbeats that follow each other are one."""
    runs: dict[str, list[str]] = {}
    for event in told:
        types = runs.setdefault(event["run"]["runId"], [])
        if types[-1:] != [event["eventType"]]:
            types.append(str(event["eventType"]))
    return "; ".join(" ".join(types) for types in runs.values()) or _NONE
