"""`headwater events`: raw events, as producers sent them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import typer
from msgspec import Raw

from headwater.api.events import LineageEvent
from headwater.cli.options import DEFAULT_SERVER, Server
from headwater.errors import UsageError
from headwater.openlineage.times import format_moment, parse_moment
from headwater.openlineage.tolerant_json import decode_as

_AGO = re.compile(r"(\d{1,9})(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def events(
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Show only events of this run.")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="From this time: 2026-03-02T08:00:00Z, or a relative time such as 10m.",
        ),
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="T", help="Before this time, in the same format.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Show at most N events.")] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the raw events, one per line.")
    ] = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show raw events, latest first."""
    from headwater.cli.client import Client
    from headwater.cli.output import note, write_lines, write_table

    which = {
        "runId": _run(run),
        "after": _time("--after", after),
        "before": _time("--before", before),
    }
    with Client(server) as client:
        found = client.events(limit, **which)
    if as_json:
        write_lines(bytes(raw) for raw in found)
    elif found:
        write_table(["TIME", "TYPE", "JOB", "RUN", "IN", "OUT"], [_row(raw) for raw in found])
    else:
        note("no events")


def _row(raw: Raw) -> list[Any]:
    event = decode_as(raw, LineageEvent)
    if not event.job:
        name, kind = event.dataset.name if event.dataset else "-", "DATASET"
    else:
        name, kind = event.job.name, (event.event_type or "-") if event.run else "JOB"
    run = event.run.run_id if event.run else "-"
    counts = [str(len(side or ())) for side in (event.inputs, event.outputs)]
    return [event.event_time, kind, name, run, *counts]


def _run(text: str | None) -> str | None:
    try:
        return str(UUID(text)) if text else None
    except ValueError:
        raise UsageError(
            f"--run: {text!r} is not a run id", hint="Give the UUID that `headwater runs` shows"
        ) from None


def _time(option: str, text: str | None) -> str | None:
    return None if text is None else moment_of(option, text)


def moment_of(option: str, text: str) -> str:
    """A time that an option gives, or how long ago it was.

    Raises: UsageError.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago:
            span = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return (datetime.now(UTC) - span).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return format_moment(parse_moment(text))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option}: {error}",
            hint="Write a time such as 2026-03-02T08:00:00Z, or a relative time such as 10m",
        ) from None
