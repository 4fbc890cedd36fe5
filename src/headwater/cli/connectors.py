"""`headwater connector`: deploys and manages connectors, on a worker or a real Kafka Connect."""

from pathlib import Path
from typing import Annotated, Any

import httpx
import msgspec
import typer
from rich.text import Text

from headwater.cli.help import Command
from headwater.cli.options import AsJson
from headwater.cli.output import note, out, write_json, write_table
from headwater.errors import UsageError, WorkerRefused

connector = typer.Typer(
    name="connector", help="Deploy and manage connectors.", no_args_is_help=True
)
_TIMEOUT_S = 120

Url = Annotated[
    str,
    typer.Option(
        "--worker", envvar=["HEADWATER_WORKER", "CONNECT_URL"], metavar="URL", help="The worker."
    ),
]
Name = Annotated[str, typer.Argument(help="The connector.", show_default=False)]
_DEFAULT = "http://127.0.0.1:8083"


@connector.command(cls=Command)
def deploy(
    files: Annotated[list[Path], typer.Argument(help="Connector files.", show_default=False)],
    url: Url = _DEFAULT,
) -> None:
    """Deploy connectors from their files, or change them to what the files say."""
    for path in files:
        name, config = _read(path)
        _ask("PUT", f"{url}/connectors/{name}/config", config)
        note(f"{name} deployed")


@connector.command("list", cls=Command)
def list_connectors(url: Url = _DEFAULT, as_json: AsJson = False) -> None:
    """List connectors with their states."""
    found = _ask("GET", f"{url}/connectors?expand=status")
    if as_json:
        write_json(found)
        return
    rows = [_row(name, one["status"]) for name, one in sorted(found.items())]
    write_table(("CONNECTOR", "TYPE", "STATE", "TASKS"), rows)


@connector.command(cls=Command)
def status(name: Name, url: Url = _DEFAULT, as_json: AsJson = False) -> None:
    """Show one connector, and why a task of it failed."""
    found = _ask("GET", f"{url}/connectors/{name}/status")
    if as_json:
        write_json(found)
        return
    write_table(("CONNECTOR", "TYPE", "STATE", "TASKS"), [_row(name, found)])
    for one in (found["connector"], *found["tasks"]):
        if one.get("trace"):
            out().print(Text(one["trace"]), soft_wrap=True)


@connector.command(cls=Command)
def pause(name: Name, url: Url = _DEFAULT) -> None:
    """Pause a connector."""
    _turn("PUT", url, name, "pause", "paused")


@connector.command(cls=Command)
def resume(name: Name, url: Url = _DEFAULT) -> None:
    """Let a paused or stopped connector go on."""
    _turn("PUT", url, name, "resume", "resumed")


@connector.command(cls=Command)
def stop(name: Name, url: Url = _DEFAULT) -> None:
    """Stop a connector; it stays deployed."""
    _turn("PUT", url, name, "stop", "stopped")


@connector.command(cls=Command)
def restart(name: Name, url: Url = _DEFAULT) -> None:
    """Build a connector and its tasks again."""
    _turn("POST", url, name, "restart?includeTasks=true", "restarted")


@connector.command(cls=Command)
def delete(name: Name, url: Url = _DEFAULT) -> None:
    """End a connector and forget it."""
    _ask("DELETE", f"{url}/connectors/{name}")
    note(f"{name} deleted")


def _turn(method: str, url: str, name: str, what: str, done: str) -> None:
    _ask(method, f"{url}/connectors/{name}/{what}")
    note(f"{name} {done}")


def _row(name: str, status: Any) -> tuple[str, ...]:
    tasks = ", ".join(str(task["state"]).lower() for task in status["tasks"]) or "-"
    return name, status["type"], str(status["connector"]["state"]).lower(), tasks


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        body = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is not a JSON object: {error}") from error
    return str(body.get("name", path.stem)), dict(body.get("config", body))


def _ask(method: str, url: str, body: Any = None) -> Any:
    try:
        answer = httpx.request(method, url, json=body, timeout=_TIMEOUT_S)
    except httpx.HTTPError as error:
        raise WorkerRefused(url, 0, str(error)) from error
    if answer.is_error:
        raise WorkerRefused(url, answer.status_code, _message(answer))
    return answer.json() if answer.content else None


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:300]
