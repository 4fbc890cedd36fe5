"""`headwater search`: jobs, datasets and columns by a part of their name."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.cli.answers import Found


class Kind(StrEnum):
    """What can be searched for."""

    JOB = "job"
    DATASET = "dataset"
    COLUMN = "column"


_FILTERS = {Kind.JOB: "JOB", Kind.DATASET: "DATASET", Kind.COLUMN: "FIELD"}
_WORDS = {told: kind for kind, told in _FILTERS.items()}


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A part of a name.")],
    kind: Annotated[
        Kind | None,
        typer.Option(metavar="KIND", help="Look only for a job, dataset or column."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Show at most N.")] = 20,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Find jobs, datasets and columns by a part of their name."""
    from headwater.cli.client import Client
    from headwater.cli.output import note, write_json, write_table

    if not text.strip():
        raise UsageError("the text to search for is empty", hint="Give a part of a name")
    with Client(server) as client:
        found = [
            one
            for wanted in ([kind] if kind else Kind)
            for one in client.search(text, _FILTERS[wanted], limit)
        ]
    shown = sorted(found, key=lambda one: _distance(text, one))[:limit]
    if as_json:
        write_json(shown)
    elif shown:
        rows = [[_WORDS[one.type], one.field or one.name, one.node_id] for one in shown]
        write_table(["KIND", "NAME", "NODE"], rows)
    else:
        note(f"nothing has {text!r} in its name")


def _distance(text: str, one: "Found") -> int:
    """The nearest first: the name itself, then what begins with it."""
    name, text = (one.field or one.name).lower(), text.lower()
    return 0 if name == text else 1 if name.startswith(text) else 2
