"""`headwater diff`, `impact` and `origin`: what changed, and what depends on what."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import DEFAULT_SERVER, AsJson, Server

if TYPE_CHECKING:
    from rich.text import Text

    from headwater.cli.client import Client

Node = Annotated[
    str,
    typer.Argument(
        metavar="NODE", help="A name such as orders.price or topic:orders, or a node id."
    ),
]
Depth = Annotated[int, typer.Option(min=1, metavar="N", help="Follow at most N jobs.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Write CSV instead of text.")]
Formulas = Annotated[bool, typer.Option("--formulas", help="Show the expression of each column.")]
_SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def diff(
    node: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE", help="Only changes around this node. Default: the whole graph."
        ),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            "--from", metavar="T", help="Start: a time, or a relative time such as 10m, 2h or 3d."
        ),
    ] = "1d",
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="T", help="End: a time or a relative time. Default: now."),
    ] = None,
    depth: Depth = 20,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show what changed in the graph between two times, and which run changed it."""
    from headwater.cli.client import Client
    from headwater.cli.events import moment_of
    from headwater.cli.output import note, write_json, write_line
    from headwater.cli.resolve import resolve

    params: dict[str, Any] = {"from": moment_of("--from", since), "depth": depth}
    if until is not None:
        params["to"] = moment_of("--to", until)
    with Client(server) as client:
        if node is not None:
            found = resolve(client, node)
            params["nodeId"] = f"{found.kind}:{found.rest}"
        told = client.ask("lineage/diff", **params)
    if as_json:
        write_json(told)
        return
    lines = [*_lines(told)]
    for line in lines:
        write_line(line)
    if not lines:
        note("nothing changed")


def _lines(told: dict[str, Any]) -> "list[Text]":
    lines = []
    for change in ("added", "removed"):
        lines += [_line(change, "node", node, None) for node in told["nodes"][change]]
        lines += [_line(change, "edge", _arrow(e), e) for e in told["edges"][change]]
    for change in ("added", "removed", "changed"):
        lines += [
            _line(change, "column", f"{_arrow(e)}{_formulas(e)}", e)
            for e in told["columnEdges"][change]
        ]
    for field in told["fields"]:
        types = [side["type"] for side in (field["before"], field["after"]) if side]
        what = f"{field['nodeId']} {field['name']}  {' → '.join(t or '?' for t in types)}"
        lines.append(_line(field["change"], "field", what, field))
    return lines


def _formulas(edge: dict[str, Any]) -> str:
    """The expressions of a column edge that changed, before and after."""
    sides = [
        ", ".join(dict.fromkeys(one["description"] or "-" for one in edge.get(side, ())))
        for side in ("before", "after")
    ]
    return f"  {' → '.join(sides)}" if sides[0] != sides[1] else ""


def _arrow(edge: dict[str, Any]) -> str:
    return f"{edge['origin']} → {edge['destination']}"


def _line(change: str, kind: str, what: str, told: dict[str, Any] | None) -> "Text":
    from rich.text import Text

    from headwater.cli.output import escaped

    sign, style = _SIGNS[change]
    line = Text.assemble((f"{sign} {kind:<6} ", style), escaped(what))
    if told and told["at"]:
        run = f" by run {told['runId']}" if told["runId"] else ""
        line.append(f"  {told['at']}{run}", style="dim")
    return line


def impact(
    node: Node, depth: Depth = 20, formulas: Formulas = False, as_csv: AsCsv = False,
    as_json: AsJson = False, server: Server = DEFAULT_SERVER,
) -> None:  # fmt: skip
    """List everything that depends on a column, dataset or job."""
    _list("impact", node, depth, as_csv, as_json, server, formulas=formulas)


def origin(
    node: Node, depth: Depth = 20, formulas: Formulas = False, as_csv: AsCsv = False,
    as_json: AsJson = False, server: Server = DEFAULT_SERVER,
) -> None:  # fmt: skip
    """List everything that a column, dataset or job depends on."""
    _list("origin", node, depth, as_csv, as_json, server, formulas=formulas)


def _list(
    path: str, node: str, depth: int, as_csv: bool, as_json: bool, server: str, *, formulas: bool
) -> None:
    from headwater.cli.client import Client
    from headwater.cli.output import note, state_text, write_json, write_table, write_text
    from headwater.cli.resolve import resolve

    with Client(server) as client:
        found = resolve(client, node)
        params = {"nodeId": f"{found.kind}:{found.rest}", "depth": depth}
        if as_csv:
            write_text(client.text(path, format="csv", **params).replace("\r\n", "\n"))
            return
        told = client.ask(path, **params)
        made = _made(client, params["nodeId"], depth) if formulas else {}
    if as_json:
        for item in told["items"] if formulas else ():
            item["formulas"] = made.get(item["nodeId"], [])
        write_json(told)
    elif told["items"]:
        rows = [
            [
                str(item["distance"]), item["kind"].lower(), item["nodeId"],
                state_text(item["lastState"]) if item["lastState"] else "-",
                ", ".join(item["owners"]) or "-",
                *([", ".join(made.get(item["nodeId"], ())) or "-"] if formulas else ()),
            ]
            for item in told["items"]
        ]  # fmt: skip
        names = ["DISTANCE", "KIND", "NODE", "LAST RUN", "OWNERS"]
        write_table([*names, *(["FORMULA"] if formulas else ())], rows)
    else:
        note("no results")


def _made(client: "Client", node: Any, depth: int) -> dict[str, list[str]]:
    """The expressions that make the columns around a node."""
    from headwater.cli.pictures import formulas_of

    nodes = client.columns(node, depth)
    return {key: formulas_of(one) for key, (one, _) in nodes.items()}
