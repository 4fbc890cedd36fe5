"""What a node feeds, and what it comes from, as lists: JSON for programs, CSV for people."""

import csv
import re
from io import StringIO
from typing import Any

import msgspec
from litestar import Controller, Request, Response, get

from headwater.api.history import ImpactItem, ImpactPage
from headwater.openlineage.graph import Way
from headwater.openlineage.names import NodeKind
from headwater.server.http.access import READS_NODE
from headwater.server.http.common import answer, bounded, name_of, time_of
from headwater.server.http.errors import BadRequest, NotFound
from headwater.server.http.parameters import AsOf, Depth, Format, Node
from headwater.server.http.routes.history import parse_node
from headwater.server.lineage.impact import reached
from headwater.server.lineage.view import NOW
from headwater.server.service import Service

# Where a spreadsheet may take what follows for a formula: at the beginning of a cell, and after
# semicolons, which separate cells in some countries. Names, owners and tags come from anyone.
_FORMULA = re.compile(r"(?:^|(?<=;))(?=\s*[=+\-@＝＋－＠]|[\t\r\n])")  # noqa: RUF001
_WORDS = {NodeKind.JOB: "Job", NodeKind.DATASET: "Dataset", NodeKind.FIELD: "Column"}


class Impact(Controller):
    """Everything downstream, and everything upstream."""

    tags = ("Lineage",)
    path = "/api/v1"

    @get("/impact", opt=READS_NODE, sync_to_thread=True)
    def get_impact(
        self, request: Request[Any, Any, Any], service: Service, node_id: Node,
        depth: Depth = 20, as_of: AsOf = None, form: Format = None,
    ) -> Response[ImpactPage]:  # fmt: skip
        """List everything downstream of a column, dataset or job, nearest first."""
        return _list(request, service, node_id, Way.DOWNSTREAM, depth, as_of, form)

    @get("/origin", opt=READS_NODE, sync_to_thread=True)
    def get_origin(
        self, request: Request[Any, Any, Any], service: Service, node_id: Node,
        depth: Depth = 20, as_of: AsOf = None, form: Format = None,
    ) -> Response[ImpactPage]:  # fmt: skip
        """List everything upstream of a column, dataset or job, nearest first."""
        return _list(request, service, node_id, Way.UPSTREAM, depth, as_of, form)


def _list(
    request: Request[Any, Any, Any], service: Service, text: str, way: Way, depth: int,
    as_of: str | None, form: str | None,
) -> Response[Any]:  # fmt: skip
    if form not in (None, "", "json", "csv"):
        raise BadRequest(detail="query param format must be one of [json, csv]")
    node = parse_node(text)
    with service.open_view(time_of("asOf", as_of, NOW)) as view:
        items = reached(view, node, way, bounded(depth))
    if items is None:
        raise NotFound(_WORDS[node.kind], name_of(node))
    accepts = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip()
    if form == "csv" or (not form and accepts == "text/csv"):
        name = f"{'impact' if way is Way.DOWNSTREAM else 'origin'}.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(as_csv(items), media_type="text/csv; charset=utf-8", headers=headers)
    return answer(ImpactPage(text, items))


def as_csv(items: list[ImpactItem]) -> bytes:
    """Items as a table; lists are joined by a semicolon."""
    names = [field.encode_name for field in msgspec.structs.fields(ImpactItem)]
    file = StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(names)
    for item in items:
        told = msgspec.to_builtins(item)
        writer.writerow([_cell(told[name]) for name in names])
    return file.getvalue().encode()


def _cell(value: Any) -> str:
    text = ";".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return _FORMULA.sub("'", text)
