"""`headwater lineage`: what a dataset, job or column comes from, and what it feeds."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import DEFAULT_SERVER, AsJson, Server
from headwater.errors import RequestRefused
from headwater.openlineage.graph import Branch, Way, reach, tree
from headwater.openlineage.names import NodeId, NodeKind

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from headwater.cli.client import Client
    from headwater.cli.pictures import Picture

_CHILDREN = 8  # jobs that a job starts and that are named


def lineage(
    node: Annotated[
        str,
        typer.Argument(
            metavar="NODE", help="A name such as orders.price or topic:orders, or a node id."
        ),
    ],
    upstream: Annotated[
        bool, typer.Option("--upstream", help="Show only what is upstream.")
    ] = False,
    downstream: Annotated[
        bool, typer.Option("--downstream", help="Show only what is downstream.")
    ] = False,
    depth: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Follow at most N jobs (with --columns, N columns)."),
    ] = 20,
    columns: Annotated[
        bool, typer.Option("--columns", help="Follow columns, and show how each is transformed.")
    ] = False,
    formulas: Annotated[
        bool,
        typer.Option("--formulas", help="Follow columns, and show the expression of each."),
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="T",
            help="Show the graph at a time: 2026-03-02T08:00:00Z, or a relative time such as 10m.",
        ),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show the upstream and downstream of a dataset, job or column.

    Shows both directions unless --upstream or --downstream is given.
    """
    from headwater.cli.client import Client
    from headwater.cli.events import moment_of
    from headwater.cli.output import note
    from headwater.cli.resolve import resolve

    at = moment_of("--as-of", as_of) if as_of is not None else None
    ways = [way for way, wanted in zip(Way, (upstream, downstream), strict=True) if wanted]
    with Client(server) as client:
        found = resolve(client, node)
        # One step further than is shown tells what lies beyond.
        if columns or formulas or found.kind is NodeKind.FIELD:
            picture = _columns(client, found, depth + 1, at, formulas=formulas)
        else:
            picture = _nodes(client, found, depth + 1, at)
        children = _children(client, found) if at is None and not as_json else []
    if not picture.starts:
        note(f"no column lineage is known for {found.kind}:{found.rest}")
    (_write if as_json else _draw)(picture, ways or [*Way], depth)
    if children:
        more = ", …" if len(children) > _CHILDREN else ""
        names = ", ".join(children[:_CHILDREN])
        note(f"this job starts {names}{more}; see `headwater runs --children`")


def _children(client: "Client", node: NodeId) -> list[str]:
    """The names of the jobs that a job starts, and one more than are shown.

    None where the server cannot be asked: an older one, or a job named `..`.
    """
    from headwater.cli.output import escaped

    if node.kind is not NodeKind.JOB:
        return []
    try:
        job = client.find(node)
        found = islice(client.children(job.place), _CHILDREN + 1) if job else ()
        return [escaped(one.id.name) for one in found]
    except RequestRefused:
        return []


def _nodes(client: "Client", node: NodeId, depth: int, at: str | None) -> "Picture":
    from headwater.cli.pictures import NodePicture
    from headwater.cli.resolve import shown_id

    start = f"{node.kind}:{node.rest}"
    nodes = client.lineage(start, depth, at)
    return NodePicture(start if start in nodes else shown_id(client, node), nodes)


def _columns(
    client: "Client", node: NodeId, depth: int, at: str | None, *, formulas: bool
) -> "Picture":
    from headwater.cli import pictures
    from headwater.cli.resolve import shown_id

    start = f"{node.kind}:{node.rest}"
    nodes = client.columns(start, depth, at)
    starts: list[str] = []
    if node.kind is NodeKind.FIELD:
        starts = [start if start in nodes else shown_id(client, node)]
    elif node.kind is NodeKind.DATASET and (dataset := client.find(node)):
        starts = pictures.starts_in_dataset(nodes, dataset.place)
    elif node.kind is NodeKind.JOB and (job := client.find(node)):
        starts = pictures.starts_of_job(nodes, job.place)
    return pictures.ColumnPicture(starts, nodes, formulas=formulas)


def _write(picture: "Picture", ways: list[Way], depth: int) -> None:
    """Write ids by direction, nearest first, and the nodes as the server told them."""
    from headwater.cli.output import write_json

    told: dict[str, Any] = {"start": picture.starts}
    kept = dict.fromkeys(picture.starts)
    for way in ways:
        steps: dict[str, int] = {}
        for start in picture.starts:
            for node, count in reach(picture.flow, start, way, depth, picture.counts).items():
                steps[node] = min(count, steps.get(node, count))
        kept.update(dict.fromkeys(steps))
        nearest = sorted(steps, key=lambda node: (steps[node], node))
        told[way] = [node for node in nearest if node not in picture.starts]
    told["graph"] = [picture.raws[node] for node in kept if node in picture.raws]
    write_json(told)


def _draw(picture: "Picture", ways: list[Way], depth: int) -> None:
    from rich.text import Text
    from rich.tree import Tree

    from headwater.cli.output import one_line, out

    console = out()
    for start in picture.starts:
        drawn = Tree(one_line(picture.label(start)), guide_style="dim")
        for way in ways:
            side = drawn.add(Text(way.value, style="italic"))
            root = tree(picture.flow, start, way, depth, picture.counts)
            _grow(side, root, picture, way, depth)
            if not root.children and not root.hidden:
                side.add("nothing known", style="dim")
        console.print(drawn)


def _grow(side: "Tree", root: Branch, picture: "Picture", way: Way, depth: int) -> None:
    """Hang the branches of a root on a drawn tree."""
    todo = [(side, root)]
    while todo:
        drawn, branch = todo.pop()
        for child in branch.children:
            label = _label(picture, branch.node, child, way)
            todo.append((drawn.add(label), child))
        if branch.hidden:
            drawn.add(f"… {branch.hidden} more beyond --depth {depth}", style="dim")


def _label(picture: "Picture", parent: str, child: Branch, way: Way) -> "Text":
    from headwater.cli.output import one_line

    ends = (child.node, parent) if way is Way.UPSTREAM else (parent, child.node)
    label, step = picture.label(child.node), picture.step(*ends)
    if step:
        label.append("  ").append_text(step)
    if child.seen:
        label.append("  …seen above", style="dim italic")
    return one_line(label)
