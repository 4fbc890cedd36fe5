"""The commands of the local platform: up, down, status, logs, doctor, env, fetch."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.extras import needs
from headwater.cli.help import Command
from headwater.errors import StackExtraMissing, UsageError

if TYPE_CHECKING:
    from headwater.stack.settings import Settings

_POLL_S = 0.3

Only = Annotated[
    str, typer.Option(metavar="A,B", help="Start only these services and their dependencies.")
]
With = Annotated[
    str,
    typer.Option(
        "--with", metavar="A,B", help="Also start these services: worker, connect, history."
    ),
]
Detach = Annotated[
    bool,
    typer.Option(
        "--detach", "-d", help="Run in the background; return when all services are healthy."
    ),
]
FreePorts = Annotated[
    bool, typer.Option("--free-ports", help="Use free ports instead of the well-known ones.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _port(service: str) -> Any:
    return typer.Option(
        f"--{service}-port",
        envvar=f"HEADWATER_{service.upper()}_PORT",
        help=f"Port of {service}; 0 for any free port.",
        show_default=False,
        min=0,
        max=65535,
        rich_help_panel="Ports",
    )


def register(app: typer.Typer) -> None:
    """Add the commands of the local platform to the command line."""
    for command in (up, down, status, logs, env, doctor, fetch):
        app.command(rich_help_panel="Local platform", cls=Command)(
            needs(StackExtraMissing)(command)
        )


def up(
    only: Only = "",
    extra: With = "",
    detach: Detach = False,
    free_ports: FreePorts = False,
    kafka_port: Annotated[int | None, _port("kafka")] = None,
    registry_port: Annotated[int | None, _port("registry")] = None,
    s3_port: Annotated[int | None, _port("s3")] = None,
    metastore_port: Annotated[int | None, _port("metastore")] = None,
    server_port: Annotated[int | None, _port("server")] = None,
    worker_port: Annotated[int | None, _port("worker")] = None,
    connect_port: Annotated[int | None, _port("connect")] = None,
    history_port: Annotated[int | None, _port("history")] = None,
) -> None:
    """Start Kafka, a schema registry, S3, a Hive Metastore and the lineage server."""
    from headwater.cli import stack_up
    from headwater.stack import catalog
    from headwater.stack.files import disk_faults_are_told

    asked = {
        "kafka": kafka_port,
        "registry": registry_port,
        "s3": s3_port,
        "metastore": metastore_port,
        "server": server_port,
        "worker": worker_port,
        "connect": connect_port,
        "history": history_port,
    }
    request = stack_up.Request(
        services=catalog.choose(_names(only), _names(extra)),
        ports={name: port for name, port in asked.items() if port is not None},
        free_ports=free_ports,
    )
    settings = _settings()
    run = stack_up.detached if detach else stack_up.foreground
    with disk_faults_are_told(settings.home):
        run(request, settings)


def down(
    purge: Annotated[bool, typer.Option("--purge", help="Delete data and logs too.")] = False,
) -> None:
    """Stop the platform. Its data is kept unless --purge is given."""
    from headwater.stack import state, supervisor

    home = _settings().home
    was_up = supervisor.down(home)
    if purge:
        state.purge(home)
    what = "stopped" if was_up else "nothing was running"
    typer.echo(f"{what}; data and logs removed" if purge else what, err=True)


def status(as_json: AsJson = False) -> None:
    """Show each service with its address, process, memory and uptime."""
    from headwater.cli import stack_view
    from headwater.cli.output import out
    from headwater.stack.state import running

    state = running(_settings().home)
    if as_json:
        typer.echo(stack_view.status_json(state))
    else:
        out().print(stack_view.status_table(state))
    if not state.healthy:
        raise typer.Exit(1)


def logs(
    service: Annotated[str, typer.Argument(help="Name of the service.", show_default=False)],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Number of lines.")] = 100,
) -> None:
    """Show the end of a service's log."""
    from headwater.cli.output import write_text

    folder = _settings().home / "logs"
    path = folder / f"{service}.log"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.log"))) or "none yet"
        raise UsageError(f"{service!r} has no log", hint=f"Services with logs: {known}")
    for text in _tail(path, lines, follow=follow):
        write_text(text)


def env(
    spark: Annotated[bool, typer.Option("--spark", help="Print Spark's configuration.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the platform's addresses as shell exports, or as a Spark configuration."""
    from headwater.cli import stack_up, stack_view
    from headwater.stack import environment, running, spark_conf

    settings = _settings()
    if spark:
        with stack_up.shown_progress() as progress:
            values = spark_conf(settings, progress=progress)
    else:
        values = environment(running(settings.home))
    typer.echo(stack_view.pairs(values, as_json=as_json, shell=not spark))


def doctor(as_json: AsJson = False) -> None:
    """Check whether this machine can run the platform, and show how to install what is missing."""
    from headwater.cli import stack_view
    from headwater.cli.output import out
    from headwater.stack.doctor import examine

    findings = examine(_settings())
    if as_json:
        typer.echo(stack_view.findings_json(findings))
    else:
        out().print(stack_view.findings_table(findings))
    if any(finding.level == "missing" for finding in findings):
        raise typer.Exit(1)


def fetch(
    only: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="Fetch only the jars of these services; `spark` is also accepted."
        ),
    ] = "",
) -> None:
    """Fill the jar cache in advance, for images and machines without network access."""
    from headwater.cli import stack_up

    stack_up.fetch(_settings(), _names(only))


def _settings() -> "Settings":
    from headwater.stack.settings import Settings

    return Settings.read(os.environ)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _tail(path: Path, lines: int, *, follow: bool) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        yield "".join(file.readlines()[-lines:] if lines else [])
        while follow:
            new = file.read()
            if new:
                yield new
                sys.stdout.flush()
            else:
                time.sleep(_POLL_S)
