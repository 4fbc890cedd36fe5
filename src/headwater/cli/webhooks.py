"""`headwater webhook`: who is called when runs fail or the graph changes."""

import asyncio
from typing import Annotated

import typer

from headwater.cli.extras import needs
from headwater.cli.help import Command, Front
from headwater.cli.keys import STORE, Store, opened
from headwater.cli.options import AsJson
from headwater.errors import HeadwaterError, ServerExtraMissing

webhook = typer.Typer(
    name="webhook",
    help="Manage webhooks, which call a URL when runs fail or the graph changes.",
    no_args_is_help=True,
    cls=Front,
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the webhook.")]


@webhook.command(cls=Command)
@needs(ServerExtraMissing)
def create(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL to call.")],
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="run.failed, run.aborted, lineage.changed or schema.changed. Can be repeated. "
            "Default: all.",
        ),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="NODE", help="Only this job, or this dataset and its jobs."),
    ] = None,
    store: Store = STORE,
) -> None:
    """Create a webhook and print the secret that signs its calls, which is shown only once."""
    from headwater.cli.output import note
    from headwater.server.store.hooks import create_hook

    with opened(store) as database:
        secret = create_hook(database, name, url, on or (), node)
    typer.echo(secret)
    note("this secret signs calls, in the header Headwater-Signature")


@webhook.command("list", cls=Command)
@needs(ServerExtraMissing)
def list_(store: Store = STORE, as_json: AsJson = False) -> None:
    """List webhooks."""
    from headwater.cli.output import note, write_json, write_table
    from headwater.server.store.hooks import list_hooks, origin

    with opened(store) as database, database.reading() as session:
        found = list_hooks(session)
    if as_json:
        write_json([{"name": h.name, "url": origin(h.url), "on": sorted(h.kinds), "node": h.node}
                    for h in found])  # fmt: skip
    elif found:
        rows = [[h.name, origin(h.url), ",".join(sorted(h.kinds)), h.node or "-"] for h in found]
        write_table(["NAME", "URL", "ON", "NODE"], rows)
    else:
        note("no webhooks")


@webhook.command(cls=Command)
@needs(ServerExtraMissing)
def delete(name: Name, store: Store = STORE) -> None:
    """Delete a webhook."""
    from headwater.server.store.hooks import delete_hook

    with opened(store) as database:
        delete_hook(database, name)


@webhook.command("test", cls=Command)
@needs(ServerExtraMissing)
def call(name: Name, store: Store = STORE) -> None:
    """Call a webhook once and show the response."""
    import httpx

    from headwater.cli.output import note
    from headwater.server.live.webhooks import new_client, post
    from headwater.server.store.hooks import find_hook, origin

    with opened(store) as database:
        hook = find_hook(database, name)
    place = origin(hook.url)
    told = {"id": f"{hook.id}-test", "type": "test", "data": {}}

    async def call_once() -> int:
        async with new_client() as client:
            return await post(client, hook, told)

    try:
        status = asyncio.run(call_once())
    except TimeoutError:
        raise HeadwaterError(f"{place} does not answer", hint="Check the address") from None
    except httpx.HTTPError as error:
        raise HeadwaterError(
            f"{place} does not answer: {error}", hint="Check the address"
        ) from None
    if not 200 <= status < 300:
        raise HeadwaterError(
            f"{place} answered {status}",
            hint="The receiver must answer 2xx; other calls are retried",
        )
    note(f"{place} answered {status}")
