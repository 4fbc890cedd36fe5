"""The `headwater` command: one front door over every part of Headwater."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from headwater.cli import capture
from headwater.errors import HeadwaterError
from headwater.version import __version__

app = typer.Typer(
    name="headwater",
    help="Where does this column come from, what does it feed, and is it flowing?",
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


capture.register(app)


def main() -> None:
    """Run the command line; an error is one line on what happened and one on what to do."""
    try:
        app()
    except HeadwaterError as error:
        err = Console(stderr=True, highlight=False, soft_wrap=True)
        err.print("error:", style="bold red", end=" ")
        err.print(error.message, markup=False)
        if error.hint:
            err.print(f"  {error.hint}", style="dim", markup=False)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
