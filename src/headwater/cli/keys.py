"""`headwater key`: who may ask a lineage server, and for what."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.extras import needs
from headwater.cli.help import Command, Front
from headwater.cli.options import AsJson
from headwater.cli.platform import platform_store
from headwater.errors import ServerExtraMissing

if TYPE_CHECKING:
    from headwater.server.store.database import Database

key = typer.Typer(
    name="key",
    help="Create, list and revoke API keys of a lineage server or a worker.",
    no_args_is_help=True,
    cls=Front,
)
_FILE = "headwater.db"


def _store(given: str) -> str:
    """The store that was named, else the one in this folder, else that of the platform."""
    here = f"sqlite:///{_FILE}"
    return given or (here if Path(_FILE).exists() else platform_store() or here)


Store = Annotated[
    str,
    typer.Option(
        envvar="HEADWATER_STORE",
        help="The server's store: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
        show_default=f"{_FILE} in this folder, else the store of the running platform",
        callback=_store,
    ),
]
STORE = ""
File = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A worker's key file, instead of a store.",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.")]


@key.command(cls=Command)
@needs(ServerExtraMissing)
def create(
    name: Name,
    scope: Annotated[
        list[str], typer.Option(metavar="SCOPE", help="read, write or admin. Can be repeated.")
    ],
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PREFIX",
            help="Restrict the key to namespaces with this prefix. Can be repeated.",
        ),
    ] = None,
    store: Store = STORE,
    file: File = None,
) -> None:
    """Create a key and print it. It cannot be shown again.

    As soon as one key exists, every request to the server needs a key.
    """
    from headwater.cli.output import note
    from headwater.http.keys import KeyFile
    from headwater.server.store.keys import create_key

    if file is not None:
        made = KeyFile(file).create(name, scope)
    else:
        with opened(store) as database:
            made = create_key(database, name, scope, namespace or ())
    typer.echo(made)
    note("store the key now: it cannot be shown again. Send it as `Authorization: Bearer KEY`")


@key.command("list", cls=Command)
@needs(ServerExtraMissing)
def list_(store: Store = STORE, as_json: AsJson = False) -> None:
    """List keys by name and scope."""
    from headwater.cli.output import moment_text, note, write_json, write_table
    from headwater.server.lineage.view import maybe_moment, moment
    from headwater.server.store.keys import list_keys

    with opened(store) as database, database.reading() as session:
        found = [*list_keys(session).values()]
    if as_json:
        write_json([one._asdict() | {
            "scopes": sorted(one.scopes), "created_at": moment(one.created_at),
            "revoked_at": maybe_moment(one.revoked_at),
        } for one in found])  # fmt: skip
    elif found:
        rows = [
            [
                one.name, ",".join(sorted(one.scopes)), " ".join(one.namespaces) or "-",
                moment_text(moment(one.created_at)), moment_text(maybe_moment(one.revoked_at)),
            ]
            for one in found
        ]  # fmt: skip
        write_table(["NAME", "SCOPES", "NAMESPACES", "CREATED (UTC)", "REVOKED (UTC)"], rows)
    else:
        note("no keys: the server serves only its own machine, without authentication")


@key.command(cls=Command)
@needs(ServerExtraMissing)
def revoke(name: Name, store: Store = STORE, file: File = None) -> None:
    """Revoke a key. Servers and workers reject it within about a second."""
    from headwater.cli.output import note
    from headwater.http.keys import KeyFile
    from headwater.server.store.keys import revoke_key

    if file is not None:
        KeyFile(file).revoke(name)
    else:
        with opened(store) as database:
            revoke_key(database, name)
    note(f"{name} is revoked")


@contextmanager
def opened(store: str) -> Iterator["Database"]:
    """The store at an address, with its tables as this code wants them."""
    from headwater.server.store.database import open_database
    from headwater.server.store.migrate import migrate

    database = open_database(store)
    try:
        migrate(database)
        yield database
    finally:
        database.close()
