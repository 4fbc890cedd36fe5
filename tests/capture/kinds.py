"""The matrix of kinds: the page it stands in, and one row of it from the events of a run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capture.published import Table

Event = dict[str, Any]
# Takes the words of a kind, the events of one run of it, and names to show in place of others.
Check = Callable[..., None]

TABLE = Table("kinds.md", "Kind", "Inputs", "Outputs", "Columns", "State")
_NONE = "none"


def runs(events: Sequence[Event], output: str) -> list[list[Event]]:
    """The events of each run that is over and wrote a dataset, by the end of its name."""
    over = [
        event["run"]["runId"]
        for event in events
        if event["eventType"] in ("COMPLETE", "FAIL", "ABORT")
        and any(one["name"].endswith(output) for one in event["outputs"])
    ]
    return [[event for event in events if event["run"]["runId"] == run] for run in over]


def row(events: Sequence[Event], rename: Mapping[str, str]) -> list[str]:
    """The cells of a run: inputs, outputs, columns and state."""
    if not events:
        return [_NONE] * 4
    last = events[-1]
    return [
        _datasets(last["inputs"], rename),
        _datasets(last["outputs"], rename),
        _columns(last, rename),
        # Whether a short write is seen while it runs depends on the machine.
        " ".join(one["eventType"] for one in events if one["eventType"] != "RUNNING"),
    ]


def _datasets(datasets: Sequence[Event], rename: Mapping[str, str]) -> str:
    return ", ".join(sorted(f"`{_shown(one, rename)}`" for one in datasets)) or _NONE


def _shown(dataset: Event, rename: Mapping[str, str]) -> str:
    """A dataset's name in its catalog, else the last part of its place."""
    symlinks = dataset["facets"].get("symlinks", {"identifiers": []})["identifiers"]
    parent, dot, name = (symlinks or [dataset])[0]["name"].rpartition("." if symlinks else "/")
    name = rename.get(name, name)
    return f"{parent}{dot}{name}" if symlinks else name


def _columns(event: Event, rename: Mapping[str, str]) -> str:
    """Each output column with the input columns whose values reach it."""
    found = [
        f"`{name}` ← {_origins(field, event['inputs'], rename)}"
        for output in event["outputs"]
        for name, field in output["facets"].get("columnLineage", {"fields": {}})["fields"].items()
    ]
    notes = event["run"]["facets"].get("headwater_capture", {"notes": []})["notes"]
    kinds = sorted({f" ({note['kind']})" for note in notes})
    return "; ".join(found) + "".join(kinds) if found else _NONE


def _origins(field: Event, inputs: Sequence[Event], rename: Mapping[str, str]) -> str:
    names = {(one["namespace"], one["name"]): _shown(one, rename) for one in inputs}
    origins = {
        (names[one["namespace"], one["name"]], one["field"])
        for one in field["inputFields"]
        if any(how["type"] == "DIRECT" for how in one["transformations"])
    }
    is_one = len(names) == 1
    return ", ".join(f"`{f if is_one else f'{d}.{f}'}`" for d, f in sorted(origins)) or _NONE
