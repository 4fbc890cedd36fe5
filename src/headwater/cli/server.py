"""`headwater server`: the lineage server."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.extras import needs
from headwater.errors import ServerExtraMissing

if TYPE_CHECKING:
    from headwater.server.http.serve import Started


@needs(ServerExtraMissing)
def server(
    host: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_HOST", help="Address to listen on.", show_default="127.0.0.1"
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(envvar="HEADWATER_PORT", help="Port to listen on.", show_default="5000"),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_STORE",
            help="Where to store lineage: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
            show_default="sqlite:///headwater.db",
        ),
    ] = None,
    aliases: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_ALIASES",
            help="Alias rules for dataset namespaces: from=to,from=to.",
            show_default="s3a://=s3://,s3n://=s3://",
        ),
    ] = None,
    max_body: Annotated[
        int | None,
        typer.Option(
            envvar="HEADWATER_MAX_BODY",
            help="Maximum size of a request, in bytes.",
            show_default="64 MiB",
        ),
    ] = None,
    connect: Annotated[
        list[str] | None,
        typer.Option(
            help="A worker or Kafka Connect cluster to show: NAME=URL. Can be repeated; "
            "in HEADWATER_CONNECT, separate clusters with commas.",
            metavar="NAME=URL",
        ),
    ] = None,
    kafka: Annotated[
        list[str] | None,
        typer.Option(
            help="A Kafka cluster whose topics are shown, with schemas and latest messages: "
            "NAME=HOST:PORT?registry=URL. Can be repeated; "
            "in HEADWATER_KAFKA, separate clusters with spaces.",
            metavar="NAME=HOST:PORT",
        ),
    ] = None,
    consume: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Also consume events from a topic: kafka://HOST:PORT/TOPIC. Can be repeated.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_KEEP",
            metavar="AGE",
            help="Delete raw events and run details that are older than this, such as 90d.",
            show_default="forever",
        ),
    ] = None,
    open_: Annotated[
        bool,
        typer.Option(
            "--open",
            envvar="HEADWATER_OPEN",
            help="Serve other machines without keys, behind a proxy that authenticates requests.",
        ),
    ] = False,
    tls_cert: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_TLS_CERT", metavar="FILE", help="Certificate file, to serve HTTPS."
        ),
    ] = None,
    tls_key: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_TLS_KEY", metavar="FILE", help="Private key file of the certificate."
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_LOG_LEVEL", help="debug, info, warning or error.", show_default="info"
        ),
    ] = None,
) -> None:
    """Run the lineage server: it receives OpenLineage events and serves Marquez's API."""
    from headwater.openlineage.masking import mask_logs
    from headwater.server.http.serve import serve
    from headwater.server.settings import parse_aliases, parse_clusters, parse_span, read_settings
    from headwater.server.topics.kafka_clusters import parse_kafka_clusters

    settings = read_settings(
        os.environ,
        host=host,
        port=port,
        store=store,
        aliases=parse_aliases(aliases) if aliases else None,
        max_body=max_body,
        connect=parse_clusters(",".join(connect)) if connect else None,
        kafka=parse_kafka_clusters(kafka) if kafka else None,
        log_level=log_level,
        consume=tuple(consume) if consume else None,
        keep=parse_span(keep) if keep else None,
        open=open_ or None,
        tls_cert=tls_cert,
        tls_key=tls_key,
    )
    logging.basicConfig(
        level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s"
    )
    mask_logs()
    serve(settings, _announce)


def _announce(place: "Started") -> None:
    from headwater.cli.output import note
    from headwater.version import __version__

    note(f"Headwater {__version__} is ready at {place.url}")
    note(f"  page    {place.url}/")
    note(f"  events  {place.url}/api/v1/lineage (set OPENLINEAGE_URL={place.url})")
    note(f"  store   {_absolute(place.store)}")


def _absolute(store: str) -> str:
    """The address of a store, with the whole path of a file."""
    prefix = "sqlite:///"
    if not store.startswith(prefix):
        return store
    return f"{prefix}{Path(store.removeprefix(prefix)).absolute()}"
