"""`headwater why`: where a row of a table came from."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.extras import needs
from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.errors import PipelineExtraMissing, UsageError

if TYPE_CHECKING:
    from headwater.trace.given import Given

Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="An Iceberg table such as default.orders.")
]
Catalog = Annotated[
    str | None, typer.Option(help="Name of the Iceberg catalog.", show_default="demo_ib")
]
App = Annotated[
    str | None,
    typer.Option(
        metavar="'FILE ARGUMENTS'",
        help="Application that writes the table. The command runs it to obtain its plan; "
        "its Spark writes are not executed.",
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(metavar="FILE|TEXT", help="SQL that writes the table, or only its query."),
]
TimeZone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE",
        help="Session time zone of the job given by --app or --sql, such as Europe/Berlin.",
    ),
]
Master = Annotated[str, typer.Option(envvar="SPARK_MASTER", help="Spark master.")]


@needs(PipelineExtraMissing)
def why(
    table: Table,
    predicate: Annotated[
        str,
        typer.Argument(
            metavar="PREDICATE", help="Condition that selects the row, such as \"order_id = 'a1'\"."
        ),
    ],
    records: Annotated[
        bool,
        typer.Option("--records", help="Read the records, and show those that the row came from."),
    ] = False,
    app: App = None,
    sql: Sql = None,
    time_zone: TimeZone = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Trace at most this many rows.")] = 3,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    catalog: Catalog = None,
    master: Master = "local[2]",
) -> None:
    """Show where a row came from: its snapshot, run, micro-batch, offsets and formulas."""
    from headwater.cli.output import note, write_json
    from headwater.cli.story import write_story
    from headwater.cli.tracing import tracing
    from headwater.trace.why import why as trace

    given = given_plan(app, sql, time_zone)
    with tracing(server, master, catalog) as opened:
        settings = opened.settings if records or given else None
        name = opened.full_name(table)
        story = trace(opened.spark, opened.client, name, predicate, limit, settings, given)
    (write_json if as_json else write_story)(story)
    for text in story.notes:
        note(text)
    if not story.complete:
        raise typer.Exit(1)


def given_plan(app: str | None, sql: str | None, time_zone: str | None) -> "Given | None":
    """Where the plan of a table comes from, if options say.

    Raises: UsageError, DryRunFailed.
    """
    from headwater.trace.given import Given
    from headwater.trace.values import is_time_zone

    if app and sql:
        raise UsageError(
            "--app and --sql cannot be combined", hint="Give the one that writes the table"
        )
    if time_zone and not (app or sql):
        raise UsageError(
            "--time-zone has no effect without --app or --sql", hint="Give the plan of the job, too"
        )
    if time_zone and not is_time_zone(time_zone):
        raise UsageError(
            f"--time-zone {time_zone} is no time zone",
            hint="Give a name such as Europe/Berlin, or an offset such as +02:00",
        )
    if not (app or sql):
        return None
    given = Given(app or "", sql or "", time_zone or "")
    given.check()  # before Spark starts
    return given
