"""The `headwater` command: one front door over every part of Headwater."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from rich.text import Text

from headwater.cli import capture, stack
from headwater.cli.connectors import connector
from headwater.cli.demo.commands import demo
from headwater.cli.events import events
from headwater.cli.help import EPILOG, Command, Front
from headwater.cli.history import diff, impact, origin
from headwater.cli.jobs import job, worker
from headwater.cli.keys import key
from headwater.cli.lineage import lineage
from headwater.cli.output import err, visible
from headwater.cli.records import reached
from headwater.cli.runs import runs
from headwater.cli.search import search
from headwater.cli.server import server
from headwater.cli.transfer import export, import_
from headwater.cli.watch import watch
from headwater.cli.webhooks import webhook
from headwater.cli.why import why
from headwater.cli.why_not import why_not
from headwater.errors import HeadwaterError
from headwater.version import __version__

app = typer.Typer(
    name="headwater",
    help="Live data lineage: where data comes from, what it feeds, and whether it is flowing.",
    epilog=EPILOG,
    cls=Front,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Hold the options of the bare command."""


for command in (lineage, impact, origin, reached, why, why_not, diff, runs, events, search, watch):
    app.command(rich_help_panel="Lineage", cls=Command)(command)
app.command(rich_help_panel="Server", cls=Command)(server)
app.add_typer(key, rich_help_panel="Server")
app.add_typer(webhook, rich_help_panel="Server")
app.command(rich_help_panel="Server", cls=Command)(export)
app.command("import", rich_help_panel="Server", cls=Command)(import_)
capture.register(app)
app.command(rich_help_panel="Pipeline", cls=Command)(worker)
app.add_typer(connector, rich_help_panel="Pipeline")
app.add_typer(job, rich_help_panel="Pipeline")
app.add_typer(demo, rich_help_panel="Local platform")
stack.register(app)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one line on what happened and one on what to do."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a sign that the terminal lacks is no error
            stream.reconfigure(errors="replace")
    try:
        app(args)
    except HeadwaterError as error:
        _tell(error)
        sys.exit(error.exit_code)


def _tell(error: HeadwaterError) -> None:
    from headwater.openlineage.masking import mask_text

    console = err()
    message = Text.assemble(("error:", "bold red"), " ", visible(mask_text(error.message)))
    console.print(message, soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {mask_text(error.hint)}", style="dim"), soft_wrap=True)


if __name__ == "__main__":
    main()
