"""`headwater watch`: what happens, as it happens, in a terminal."""

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.openlineage.failures import failure_reason

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from headwater.cli.client import Client

_SHOWN = 30  # jobs in the table
_MOST = 1000  # jobs whose state is asked for at the start
_NEWS = 8  # lines below it


def watch(
    node: Annotated[
        str | None,
        typer.Argument(metavar="NODE", help="Only this job, or this dataset and its jobs."),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show the latest run of each job, then states, rates and changes live.

    In a terminal, the command shows a live table; otherwise it prints one line per change.
    With --json, it prints only changes. Press Ctrl-C to stop.
    """
    import sys

    from headwater.cli.client import Client
    from headwater.cli.resolve import resolve

    with Client(server) as client:
        params = {}
        if node is not None:
            found = resolve(client, node)
            params["nodeId"] = f"{found.kind}:{found.rest}"
        news = _followed(client, params, with_states=not as_json)
        try:
            if as_json or not sys.stdout.isatty():
                _write(news, client.url, as_json)
            else:
                _show(client, news)
        except KeyboardInterrupt:
            return


def _states(client: "Client", node: str | None) -> list[dict[str, Any]]:
    """The last run of each job, latest last, in the form that the stream gives it."""
    from headwater.cli.runs import facet_text
    from headwater.openlineage.names import JobName
    from headwater.openlineage.times import format_moment

    near = None if node is None else client.lineage(node, 1).keys() | {node}
    states = []
    for job in islice(client.jobs([]), _MOST):
        id_ = str(JobName(job.id.namespace, job.id.name))
        run = job.latest_run
        if run is None or (near is not None and id_ not in near):
            continue
        at = run.ended_at or run.started_at
        error = facet_text(run, "errorMessage", "message") or None
        states.append({
            "nodeId": id_, "job": {"namespace": job.id.namespace, "name": job.id.name},
            "state": run.state, "error": error,
            "at": format_moment(round(at.timestamp() * 1e6)) if at else "-",
        })  # fmt: skip
    return sorted(states, key=lambda state: str(state["at"]))


def _followed(
    client: "Client", params: dict[str, str], *, with_states: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The stream, taken up again where it broke off; first `open`, then the states as they are.

    The states are asked for once the stream is open, so that no change is missed between.
    """
    from headwater.cli.output import note
    from headwater.errors import ServerUnreachable

    last: str | None = None
    is_open = False
    while True:
        try:
            for number, kind, data in client.stream(last, **params):
                last = number or last
                if not is_open:
                    is_open = True
                    yield "open", {}
                    states = _states(client, params.get("nodeId")) if with_states else []
                    yield from (("state", state) for state in states)
                if kind:
                    yield kind, data
            lost = "the server ended the stream"
        except ServerUnreachable as error:
            if last is None:
                raise
            lost = error.message
        note(f"{lost}; reconnecting")
        time.sleep(1)


def _write(news: Iterator[tuple[str, dict[str, Any]]], url: str, as_json: bool) -> None:
    import sys

    from headwater.cli.output import json_text, note, write_line

    for kind, data in news:
        if kind == "open":
            note(f"waiting for events at {url}; press Ctrl-C to stop")
        elif as_json:
            sys.stdout.write(json_text({"event": kind, **data}) + "\n")
        else:
            write_line(_line(kind, data))
        sys.stdout.flush()


def _line(kind: str, data: dict[str, Any]) -> "Text":
    from rich.text import Text

    from headwater.cli.output import escaped, state_text

    line = Text(f"{data.get('at', '-'):<24} ", style="dim")
    name = escaped(data["job"]["name"]) if "job" in data else ""
    if kind in ("state", "run"):
        line.append_text(state_text(data["state"])).append(f"  {name}", "default")
        if data["error"]:
            line.append(f"  {failure_reason(data['error'])}", style="red")
    elif kind == "progress":
        line.append(f"↻ {_rate(data)}  {name}", style="default")
    elif kind == "graph":
        words = ", ".join(word.lower().replace("_", " ") for word in data["kinds"])
        nodes = data["nodeIds"]
        more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
        line.append(f"◇ {words}: {', '.join(map(escaped, nodes[:3]))}{more}", style="default")
    else:
        line.append("the server no longer has some earlier changes", style="yellow")
    return line


def _rate(data: dict[str, Any]) -> str:
    rate, lag = data["rowsPerSecond"], data["lagRows"]
    told = f"{rate:,.0f} rows/s" if rate is not None else f"{data['rows']:,} rows"
    return told + (f", {lag:,.0f} behind" if lag else "")


def _show(client: "Client", news: Iterator[tuple[str, dict[str, Any]]]) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from headwater.cli.output import one_line, out

    board: dict[str, dict[str, Any]] = {}
    lines = [Text(f"waiting for events at {client.url} …", style="dim")]
    with Live(lines[0], console=out(), auto_refresh=False) as live:
        for kind, data in news:
            if kind in ("state", "run", "progress"):
                known = board.pop(data["nodeId"], {})
                board[data["nodeId"]] = {**known, **data}
            if kind not in ("open", "state", "progress"):
                lines = [*lines, one_line(_line(kind, data))][-_NEWS:]
            live.update(Group(_table(board, client.url), Text(), *lines), refresh=True)


def _table(board: dict[str, dict[str, Any]], title: str) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from headwater.cli.output import escaped, state_text

    table = Table(box=None, title=title, title_justify="left", header_style="dim", pad_edge=False)
    for name in ("STATE", "JOB", "RATE", "SINCE"):
        table.add_column(name)
    for data in reversed([*board.values()][-_SHOWN:]):
        rate = _rate(data) if "rows" in data else "-"
        table.add_row(
            state_text(data.get("state", "RUNNING")),
            Text(escaped(data["job"]["name"])),
            rate,
            data["at"],
        )
    return table
