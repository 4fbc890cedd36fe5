"""`headwater watch`: what happens, as it happens, in a terminal."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import DEFAULT_SERVER, AsJson, Server

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from headwater.cli.client import Client

_SHOWN = 30  # jobs in the table
_NEWS = 8  # lines below it


def watch(
    node: Annotated[
        str | None,
        typer.Argument(metavar="NODE", help="Only this job, or this dataset and its jobs."),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show states, rates and changes as they happen; Ctrl-C ends.

    In a terminal a table that moves; elsewhere, and with --json, a line for each.
    """
    import sys

    from headwater.cli.client import Client
    from headwater.cli.resolve import resolve

    with Client(server) as client:
        params = {}
        if node is not None:
            found = resolve(client, node)
            params["nodeId"] = f"{found.kind}:{found.rest}"
        news = _followed(client, params)
        try:
            if as_json or not sys.stdout.isatty():
                _write(news, as_json)
            else:
                _show(client, news)
        except KeyboardInterrupt:
            return


def _followed(client: "Client", params: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The stream, taken up again where it broke off."""
    from headwater.cli.output import note
    from headwater.errors import ServerUnreachable

    last: str | None = None
    while True:
        try:
            for number, kind, data in client.stream(last, **params):
                last = number or last
                if kind:
                    yield kind, data
            lost = "the server ended the stream"
        except ServerUnreachable as error:
            if last is None:
                raise
            lost = error.message
        note(f"{lost}; trying again")
        time.sleep(1)


def _write(news: Iterator[tuple[str, dict[str, Any]]], as_json: bool) -> None:
    import sys

    import msgspec

    from headwater.cli.output import out

    for kind, data in news:
        if as_json:
            sys.stdout.write(msgspec.json.encode({"event": kind, **data}).decode() + "\n")
        else:
            out().print(_line(kind, data), soft_wrap=True)
        sys.stdout.flush()


def _line(kind: str, data: dict[str, Any]) -> "Text":
    from rich.text import Text

    from headwater.cli.output import state_text

    line = Text(f"{data.get('at', '-'):<24} ", style="dim")
    if kind == "run":
        line.append_text(state_text(data["state"])).append(f"  {data['job']['name']}", "default")
        if data["error"]:
            line.append("  " + data["error"].strip().splitlines()[0], style="red")
    elif kind == "progress":
        line.append(f"↻ {_rate(data)}  {data['job']['name']}", style="default")
    elif kind == "graph":
        words = ", ".join(word.lower().replace("_", " ") for word in data["kinds"])
        nodes = data["nodeIds"]
        more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
        line.append(f"◇ {words}: {', '.join(nodes[:3])}{more}", style="default")
    else:
        line.append("some history was no longer held", style="yellow")
    return line


def _rate(data: dict[str, Any]) -> str:
    rate, lag = data["rowsPerSecond"], data["lagRows"]
    told = f"{rate:,.0f} rows/s" if rate is not None else f"{data['rows']:,} rows"
    return told + (f", {lag:,.0f} behind" if lag else "")


def _show(client: "Client", news: Iterator[tuple[str, dict[str, Any]]]) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from headwater.cli.output import out

    board: dict[str, dict[str, Any]] = {}
    lines: list[Text] = []
    with Live(Text("waiting for news …", style="dim"), console=out(), auto_refresh=False) as live:
        for kind, data in news:
            if kind in ("run", "progress"):
                known = board.pop(data["nodeId"], {})
                board[data["nodeId"]] = {**known, **data}
            if kind != "progress":
                lines = [*lines, _line(kind, data)][-_NEWS:]
            live.update(Group(_table(board, client.url), Text(), *lines), refresh=True)


def _table(board: dict[str, dict[str, Any]], title: str) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from headwater.cli.output import state_text

    table = Table(box=None, title=title, title_justify="left", header_style="dim", pad_edge=False)
    for name in ("STATE", "JOB", "RATE", "SINCE"):
        table.add_column(name)
    for data in reversed([*board.values()][-_SHOWN:]):
        rate = _rate(data) if "rows" in data else "-"
        table.add_row(
            state_text(data.get("state", "RUNNING")), Text(data["job"]["name"]), rate, data["at"]
        )
    return table
