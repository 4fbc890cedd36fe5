"""Options that several commands share."""

from typing import Annotated

import typer

from headwater.cli.platform import platform_address

DEFAULT_SERVER = ""
_ADDRESS = "http://127.0.0.1:5000"


def _server(given: str) -> str:
    """The server that was named, else the running platform, else the usual address."""
    return given or platform_address("server") or _ADDRESS


Server = Annotated[
    str,
    typer.Option(
        "--server",
        envvar=["HEADWATER_SERVER", "OPENLINEAGE_URL"],
        metavar="URL",
        help="Address of the lineage server.",
        show_default=f"the running platform, else {_ADDRESS}",
        callback=_server,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]
