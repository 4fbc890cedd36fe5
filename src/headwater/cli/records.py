"""`headwater reached`: what records of a topic went into."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.extras import needs
from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.cli.why import App, Catalog, Master, Sql, TimeZone, given_plan
from headwater.errors import PipelineExtraMissing, RequestRefused, UsageError

if TYPE_CHECKING:
    from headwater.trace.given import Given

_OFFSETS = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_NO_RECORDS = (400, 404)
_NAME_RECORDS = "Name a topic that a job reads, such as topic:orders, and one of its partitions"
_SHOWN = 3  # snapshots of a dataset; --json has more


@needs(PipelineExtraMissing)
def reached(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="A topic such as topic:orders, or a node id.")
    ],
    offsets: Annotated[
        str, typer.Option("--offsets", metavar="FIRST-LAST", help="Offsets, such as 1000-2000.")
    ],
    partition: Annotated[
        int, typer.Option("--partition", min=0, metavar="P", help="Partition of the records.")
    ] = 0,
    rows: Annotated[
        bool, typer.Option("--rows", help="Read the records, and count the rows they reached.")
    ] = False,
    app: App = None,
    sql: Sql = None,
    time_zone: TimeZone = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    catalog: Catalog = None,
    master: Master = "local[2]",
) -> None:
    """Show what records of a topic reached, and which jobs to run again, in order."""
    from headwater.cli.client import Client
    from headwater.cli.output import write_json
    from headwater.cli.resolve import resolve_topic

    match = _OFFSETS.fullmatch(offsets)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise UsageError(
            f"--offsets {offsets} is not a range", hint="Give a range such as 1000-2000"
        )
    given = given_plan(app, sql, time_zone)
    with Client(server) as client:
        found = resolve_topic(client, topic)
        try:
            told = client.ask(
                "reached", nodeId=f"{found.kind}:{found.rest}", partition=partition,
                firstOffset=first, lastOffset=last,
            )  # fmt: skip
        except RequestRefused as error:
            if error.status not in _NO_RECORDS:
                raise
            raise UsageError(error.reason, hint=_NAME_RECORDS) from None
    if rows or given:
        span = (str(found.rest).rpartition(":")[2], partition, first, last)
        told["rows"] = _narrowed(told["jobs"], span, given, (server, master, catalog))
    (write_json if as_json else _write)(told)


def _narrowed(
    jobs: list[dict[str, Any]], span: tuple[str, int, int, int],
    given: "Given | None", opened: tuple[str, str, str | None],
) -> list[dict[str, Any]]:  # fmt: skip
    import msgspec

    from headwater.cli.tracing import tracing
    from headwater.trace.forward import Span, rows_reached

    with tracing(*opened) as one:
        found = rows_reached(one.spark, one.client, one.settings, jobs, Span(*span), given)
    return [msgspec.to_builtins(each) for each in found]


def _write(told: dict[str, Any]) -> None:
    from headwater.cli.output import moment_text, note, state_text, write_table

    end = told.get("readUpTo")
    until = f"the partition has been read up to offset {end - 1}" if end else ""
    if not told["jobs"]:
        note("no job has reported that it read these records" + (f": {until}" if until else ""))
        return
    rows = []
    for job in told["jobs"]:
        last = job["runs"][-1]
        job_cells = [
            str(job["step"]), job["name"], _runs(job), state_text(last["state"]),
            "exact" if job["exact"] else "superset",
        ]  # fmt: skip
        outputs = [
            [one["name"], moment_text(datetime.fromisoformat(one["since"])), _snapshots(one)]
            if "since" in one else [one["name"], "-", "-"]
            for one in job["outputs"]
        ]  # fmt: skip
        for number, output in enumerate(outputs or [["-", "-", "-"]]):
            rows.append([*(job_cells if number == 0 else [""] * len(job_cells)), *output])
    write_table(
        ["STEP", "JOB", "RUNS", "STATE", "RECORDS", "OUTPUT", "SINCE (UTC)", "SNAPSHOTS"], rows
    )
    if "rows" in told:
        write_table(
            ["JOB", "TABLE", "ROWS", "RECORDS", "WHY"], [_row_cells(one) for one in told["rows"]]
        )
    for reason, jobs in _reasons(told["jobs"]).items():
        note(f"{', '.join(jobs)}: {reason}")
    if end and end <= told["lastOffset"]:
        note(until)
    if not told["complete"]:
        note("the list is not complete: there are too many runs to follow them all")


def _row_cells(one: dict[str, Any]) -> list[str]:
    count = one["rowCount"]
    label = "unknown" if count is None else "exact" if one["exact"] else "superset"
    return [
        one["job"],
        one["table"] or "-",
        "-" if count is None else str(count),
        label,
        one["reason"],
    ]


def _runs(job: dict[str, Any]) -> str:
    """How many runs, and of one run which batches."""
    first, last = job["runs"][0]["firstBatch"], job["runs"][-1]["lastBatch"]
    if job["runCount"] > 1 or first is None:
        return str(job["runCount"])
    return f"1, batch {first}" if first == last else f"1, batches {first} to {last}"


def _snapshots(output: dict[str, Any]) -> str:
    listed, more = output["snapshots"][:_SHOWN], output["snapshotCount"] - _SHOWN
    return ", ".join([*listed, *([f"{more} more"] if more > 0 else [])]) or "-"


def _reasons(jobs: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Why records are not known exactly, with the jobs of which that is said."""
    found: dict[str, dict[str, None]] = {}
    for job in jobs:
        for run in job["runs"]:
            if run["reason"]:
                found.setdefault(run["reason"], {})[job["name"]] = None
    return {reason: [*names] for reason, names in found.items()}
