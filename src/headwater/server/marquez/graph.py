"""Turns a walk into Marquez's lineage graph."""

from typing import Any, NamedTuple

from headwater.api.graph import Graph
from headwater.server.lineage.runs import SHOWN_RUN, ShownRun, at_moment, latest_rows
from headwater.server.lineage.view import StoreView
from headwater.server.lineage.walk import Walk
from headwater.server.marquez.nodes import write_nodes

_PARENT = ShownRun.__struct_fields__.index("parent")


class GraphOptions(NamedTuple):
    """How a graph is shown."""

    by_parent: bool = False  # parents stand for their children
    detail: bool = False  # a child job's own run, not its parent's; and tags
    brief: bool = False  # no columns, and no versions of what runs read and wrote
    dated: bool = False  # edges have the first and the last moment at which they were there


def lineage_graph(view: StoreView, walk: Walk, options: GraphOptions) -> Graph:
    """The jobs and datasets of a walk as a graph."""
    if options.by_parent:
        _fold_into_parents(view, walk)
    latest = latest_rows(view, [*walk.inputs])
    if not options.detail:
        _show_parents(view, latest)
    nodes = write_nodes(
        view, walk, latest,
        with_tags=options.detail, brief=options.brief, dated=options.dated,
    )  # fmt: skip
    return Graph(nodes)


def _show_parents(view: StoreView, latest: dict[int, tuple[Any, ...]]) -> None:
    """Show a child by the run of its parent, as Marquez does."""
    parents = {job: row[_PARENT] for job, row in latest.items()}
    wanted = view.scope.own_runs(parent for parent in parents.values() if parent is not None)
    if not wanted:
        return
    rows = view.session.all(f"SELECT {SHOWN_RUN} FROM run r WHERE r.id = ANY(?)", [*wanted])
    by_id = {row[0]: at_moment(view, row) for row in rows}
    for job, parent in parents.items():
        latest[job] = by_id.get(parent, latest[job])


def _fold_into_parents(view: StoreView, walk: Walk) -> None:
    """Let parents stand for their children.

    What one child writes and another reads is written by their parent, and not read by it.
    """
    rows = view.session.all(
        "SELECT id, parent FROM job WHERE id = ANY(?) AND parent IS NOT NULL", [*walk.inputs]
    )
    shown = view.scope.own_jobs(row[1] for row in rows)
    parents: dict[int, int] = {job: parent for job, parent in rows if parent in shown}
    own = {
        (parents.get(job, job), root)
        for job, read in walk.inputs.items()
        for root in read & walk.outputs.get(job, set())
    }
    for side in (walk.inputs, walk.outputs):
        told = [*side.items()]
        side.clear()
        for job, found in told:
            side.setdefault(parents.get(job, job), set()).update(found)
    for job in {*parents.values()} & walk.inputs.keys():
        between = walk.inputs[job] & walk.outputs.get(job, set())
        walk.inputs[job] -= {root for root in between if (job, root) not in own}
