"""The life-cycle matrix: what a server was told of each ending, and the page it stands in."""

from pathlib import Path
from typing import Any, NamedTuple

from server.api import Api

PAGE = Path(__file__).parent.parent.parent / "docs" / "lifecycle.md"
_HEAD = "| How it ends | Streaming query | foreachBatch | Batch write | Application |"
_NONE = "none"


class Ending(NamedTuple):
    """One row: the ending in words, and what arrived of each kind."""

    words: str
    told: tuple[str, ...]

    def line(self) -> str:
        return f"| {' | '.join((self.words, *self.told))} |"

    def agrees_with(self, line: str) -> bool:
        """Whether a line of the page says the same; some cells there allow either of two."""
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) != len(self.told) + 1:
            return False
        pairs = zip(cells[1:], self.told, strict=True)
        return all(told in cell.split(" or ") for cell, told in pairs)


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


def committed() -> dict[str, str]:
    """The rows of the page, by their first column."""
    lines = PAGE.read_text().partition(_HEAD)[2].splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| "): line for line in rows}


def renew(ending: Ending) -> None:
    """Write a row into the page, in its place or at the end."""
    rows = committed() | {ending.words: ending.line()}
    before, _, after = PAGE.read_text().partition(_HEAD)
    table = {line for line in after.splitlines() if line.startswith("|")}
    rest = "\n".join(line for line in after.splitlines() if line not in table).strip()
    body = "\n".join([_HEAD, "|---|---|---|---|---|", *rows.values()])
    PAGE.write_text(f"{before}{body}\n" + (f"\n{rest}\n" if rest else ""))
