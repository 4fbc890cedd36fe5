"""`headwater why-not`: where a record of a topic went."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.extras import needs
from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.cli.why import Catalog, Master, Table
from headwater.errors import PipelineExtraMissing, UsageError

if TYPE_CHECKING:
    from headwater.trace.shapes import Record
    from headwater.trace.why_not import Outcome

_RECORD = re.compile(r"([\w.-]{1,249})/(\d{1,9})@(\d{1,18})")


@needs(PipelineExtraMissing)
def why_not(
    table: Table,
    record: Annotated[
        str,
        typer.Option(
            "--record", metavar="TOPIC/PARTITION@OFFSET", help="The record, such as orders/0@1234."
        ),
    ],
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    catalog: Catalog = None,
    master: Master = "local[2]",
) -> None:
    """Show whether a record of a topic reached a table, or which step dropped it."""
    from headwater.cli.output import note, write_json
    from headwater.cli.tracing import tracing
    from headwater.trace.why_not import why_not as trace

    wanted = _record(record)
    with tracing(server, master, catalog) as opened:
        name = opened.full_name(table)
        told = trace(opened.spark, opened.client, opened.settings, name, wanted)
    (write_json if as_json else write_outcome)(told)
    for text in told.notes:
        note(text)
    if not told.complete:
        raise typer.Exit(1)


def _record(text: str) -> "Record":
    from headwater.trace.shapes import Record

    match = _RECORD.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--record {text} does not name a record", hint="Give a record such as orders/0@1234"
        )
    return Record(match[1], int(match[2]), int(match[3]))


def write_outcome(told: "Outcome") -> None:
    """Write what became of a record."""
    from rich.text import Text

    from headwater.cli.output import json_text, write_line

    record = told.record
    place = f"{record.topic}/{record.partition}@{record.offset}"
    style = "green" if told.outcome == "written" else "yellow"
    head = Text.assemble(f"{place} → {told.table}: ", (told.outcome, style), f", {told.reason}")
    write_line(head)
    batch = f", micro-batch {told.batch}" if told.batch is not None else ""
    run = f"{told.job}, run {told.run_id}{batch}" if told.job else None
    lines = {
        "read by": None if told.error else run,
        "failed": run if told.error else None,
        "error": told.error,
        "operator": told.operator,
        "snapshot": told.snapshot,
        "message": None if record.message is None else json_text(record.message),
        "row": None if told.row is None else json_text(told.row),
    }
    for name, value in lines.items():
        if value is not None:
            write_line(Text(f"  {name:<8}  {value}"))
