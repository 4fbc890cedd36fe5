"""Options that several commands share."""

from typing import Annotated

import typer

DEFAULT_SERVER = "http://127.0.0.1:5000"

Server = Annotated[
    str,
    typer.Option(
        "--server",
        envvar=["HEADWATER_SERVER", "OPENLINEAGE_URL"],
        metavar="URL",
        help="The lineage server to ask.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]
