"""`headwater connector`: deploys and manages connectors, on a worker or a real Kafka Connect."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from headwater.cli.help import Command, Front
from headwater.cli.options import AsJson
from headwater.cli.output import note, out, write_json, write_line, write_table
from headwater.cli.platform import platform_address

if TYPE_CHECKING:
    from headwater.cli.connect import Connect

connector = typer.Typer(
    name="connector", help="Deploy and manage connectors.", no_args_is_help=True, cls=Front
)

Url = Annotated[
    str,
    typer.Option(
        "--worker",
        envvar=["HEADWATER_WORKER", "CONNECT_URL"],
        metavar="URL",
        help="Address of the worker.",
        show_default="the running platform, else http://127.0.0.1:8083",
    ),
]
Name = Annotated[str, typer.Argument(help="Name of the connector.", show_default=False)]
_DEFAULT = "http://127.0.0.1:8083"


@connector.command(cls=Command)
def deploy(
    files: Annotated[list[Path], typer.Argument(help="Connector files.", show_default=False)],
    url: Url = "",
    takeover: Annotated[
        bool,
        typer.Option(
            "--takeover",
            help="Stop the connectors that own the target, and continue where they stopped.",
        ),
    ] = False,
) -> None:
    """Create or update connectors from files."""
    from headwater.cli.connect import read_connector

    worker = worker_at(url)
    for path in files:
        name, config = read_connector(path)
        worker.configure(name, config, takeover=takeover)
        note(f"{name} deployed")


@connector.command("list", cls=Command)
def list_connectors(url: Url = "", as_json: AsJson = False) -> None:
    """List connectors with their states."""
    if as_json:
        write_json(worker_at(url).ask("GET", "/connectors?expand=status"))
        return
    rows = [_row(name, status) for name, status in sorted(worker_at(url).statuses().items())]
    write_table(("CONNECTOR", "TYPE", "STATE", "TASKS"), rows)


@connector.command(cls=Command)
def status(name: Name, url: Url = "", as_json: AsJson = False) -> None:
    """Show a connector and its tasks, with the errors of failed tasks."""
    from headwater.cli.connect import traces

    found = worker_at(url).status(name)
    if as_json:
        write_json(found)
        return
    write_table(("CONNECTOR", "TYPE", "STATE", "TASKS"), [_row(name, found)])
    for trace in traces(found):
        out().print(Text(trace), soft_wrap=True)


@connector.command(cls=Command)
def pause(name: Name, url: Url = "") -> None:
    """Pause a connector."""
    worker_at(url).set_target_state(name, "pause")
    note(f"{name} paused")


@connector.command(cls=Command)
def resume(name: Name, url: Url = "") -> None:
    """Resume a paused or stopped connector."""
    worker_at(url).set_target_state(name, "resume")
    note(f"{name} resumed")


@connector.command(cls=Command)
def stop(name: Name, url: Url = "") -> None:
    """Stop a connector; it stays deployed."""
    worker_at(url).set_target_state(name, "stop")
    note(f"{name} stopped")


@connector.command(cls=Command)
def restart(name: Name, url: Url = "") -> None:
    """Restart a connector and its tasks."""
    worker_at(url).restart(name)
    note(f"{name} restarted")


@connector.command(cls=Command)
def delete(
    name: Name,
    url: Url = "",
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete its progress (checkpoints), too.")
    ] = False,
) -> None:
    """Stop and delete a connector.

    Its progress is kept unless --purge is given: a new connector with the same name continues
    from it.
    """
    worker_at(url).delete(name, purge=purge)
    note(f"{name} deleted")


@connector.command(cls=Command)
def logs(
    name: Name,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="Number of lines.")] = 100,
    url: Url = "",
    as_json: AsJson = False,
) -> None:
    """Show the latest log entries of a connector (Headwater's worker only)."""
    found = worker_at(url).logs(name, lines)
    if as_json:
        write_json(found)
        return
    for line in found:
        write_line(Text(f"{line['at']} {line['level']:5} {line['message']}"))


def worker_at(url: str) -> "Connect":
    """The worker that is named, else the one of the platform that is up, else the usual address."""
    from headwater.cli.connect import Connect

    return Connect(url or platform_address("worker") or _DEFAULT)


def _row(name: str, status: Any) -> tuple[str, ...]:
    tasks = ", ".join(str(task["state"]).lower() for task in status["tasks"]) or "-"
    return name, status["type"], str(status["connector"]["state"]).lower(), tasks
