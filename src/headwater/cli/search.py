"""`headwater search`: jobs, datasets, columns and runs by a part of their name or id."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.errors import UsageError


class Kind(StrEnum):
    """What can be searched for."""

    JOB = "job"
    DATASET = "dataset"
    COLUMN = "column"
    RUN = "run"


def search(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Part of a name, or the beginning of a run id.")
    ],
    kind: Annotated[
        Kind | None,
        typer.Option(metavar="KIND", help="Find only this kind: job, dataset, column or run."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Show at most N results.")] = 20,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Find jobs, datasets, columns and runs, best matches first. Finds misspelt names too."""
    from headwater.cli.client import Client
    from headwater.cli.output import note, write_json, write_table

    if not text.strip():
        raise UsageError("the text to search for is empty", hint="Give a part of a name")
    types = ",".join([kind] if kind else Kind)
    with Client(server) as client:
        found: list[dict[str, Any]] = client.ask("search", q=text, types=types, limit=limit)[
            "results"
        ]
    if as_json:
        write_json(found)
    elif found:
        rows = [[one["type"].lower(), one["field"] or one["name"], one["nodeId"]] for one in found]
        write_table(["KIND", "NAME", "NODE"], rows)
    else:
        note(f"no name contains {text!r}")
