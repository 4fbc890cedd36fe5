"""`headwater why`: where a row of a table came from."""

import os
from typing import Annotated

import typer

from headwater.cli.extras import needs
from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.errors import PipelineExtraMissing, UsageError

Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="An Iceberg table such as default.orders.")
]
Catalog = Annotated[
    str | None, typer.Option(help="Name of the Iceberg catalog.", show_default="demo_ib")
]
Master = Annotated[str, typer.Option(envvar="SPARK_MASTER", help="Spark master.")]


@needs(PipelineExtraMissing)
def why(
    table: Table,
    predicate: Annotated[
        str, typer.Argument(metavar="PREDICATE", help="Which row, such as \"order_id = 'a1'\".")
    ],
    records: Annotated[
        bool,
        typer.Option("--records", help="Read the records, and show the messages behind the row."),
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Rows to trace at most.")] = 3,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    catalog: Catalog = None,
    master: Master = "local[2]",
) -> None:
    """Show where a row came from: its snapshot, run, micro-batch, offsets and formulas."""
    from headwater.cli.client import Client
    from headwater.cli.output import note, write_json
    from headwater.cli.story import write_story
    from headwater.cli.tracing import trace_session
    from headwater.pipeline.settings import Settings
    from headwater.pipeline.tables import catalog_options, configure_catalog
    from headwater.trace.why import why as trace

    with Client(server) as client, trace_session(master) as spark:
        settings = Settings.read(os.environ, catalog=catalog)
        configure_catalog(spark, settings.catalog, catalog_options(settings))
        name = full_name(table, settings.catalog)
        story = trace(spark, client, name, predicate, limit, settings if records else None)
    (write_json if as_json else write_story)(story)
    for text in story.notes:
        note(text)
    if not story.complete:
        raise typer.Exit(1)


def full_name(table: str, catalog: str) -> str:
    """A table's name with its catalog.

    Raises: UsageError.
    """
    from headwater.pipeline.sql import parts

    try:
        found = parts(table)
    except ValueError as error:
        raise UsageError(str(error), hint="Name a table such as default.orders") from None
    return ".".join(_quoted(one) for one in (found if len(found) > 2 else (catalog, *found)))


def _quoted(part: str) -> str:
    return part if part.replace("_", "a").isalnum() else "`" + part.replace("`", "``") + "`"
