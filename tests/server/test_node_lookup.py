"""A node id is looked up in a few statements, however many colons it has."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from litestar.testing import TestClient

from headwater.openlineage.names import NodeId, NodeKind
from headwater.server.http.app import make_app
from headwater.server.lineage.metering import MeteredSession
from headwater.server.lineage.view import StoreView, StoreViews
from headwater.server.settings import Settings
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Row, open_database
from headwater.server.store.keys import create_key
from server.api import Api
from server.conftest import OpenApi
from server.events import dataset, run_event, schema
from server.questions import operations

_OTHERS = {"partition": "0", "firstOffset": "0", "lastOffset": "1", "snapshot": "1"}
_KINDS = ("dataset", "job", "datasetField")
_COLONS = (20, 200, 1500)
_VERSION = "#01234567-89ab-cdef-0123-456789abcdef"
# A diff looks at two moments; /resolve also looks for names like the text.
_MOST, _MOST_RESOLVING = 16, 400


class Recorder:
    """The statements of views, and whether each ran on the event loop."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.on_loop: list[str] = []

    def note(self, sql: str) -> None:
        """Record one statement."""
        self.statements.append(sql)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self.on_loop.append(sql)

    def take(self) -> int:
        """How many statements ran since the last time."""
        count = len(self.statements)
        self.statements.clear()
        return count


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Records what the views of this process ask their stores."""
    recorder, ask = Recorder(), MeteredSession.all

    def recorded(self: MeteredSession, sql: str, *params: Any) -> list[Row]:
        recorder.note(sql)
        return ask(self, sql, *params)

    monkeypatch.setattr(MeteredSession, "all", recorded)
    return recorder


def _routes(api: Api) -> Iterator[tuple[str, dict[str, str]]]:
    """Every GET that takes a node id, with the other parameters that it needs."""
    for asked in operations(api):
        if asked.method == "GET" and "nodeId" in asked.names("query"):
            needed = {name: _OTHERS[name] for name in asked.needed() if name != "nodeId"}
            yield asked.path.removeprefix("/api/v1"), needed


def _send_nested(api: Api, namespaces: int) -> None:
    """Namespaces of which each begins the next: `a`, `a:a`, `a:a:a`."""
    for depth in range(1, namespaces + 1):
        name = ":".join("a" * depth)
        out = dataset("b", name, schema=schema("c"))
        event = run_event(job="b", run=name, outputs=[out])
        event["job"]["namespace"] = name
        api.send(event)


@pytest.mark.parametrize("kind", _KINDS)
def test_statements_do_not_grow_with_colons(api: Api, recorder: Recorder, kind: str) -> None:
    _send_nested(api, 3)
    routes = [*_routes(api)]
    assert {"/stream", "/impact", "/column-lineage", "/lineage"} <= {path for path, _ in routes}
    for version, (path, needed) in itertools.product(("", _VERSION), routes):
        for colons in _COLONS:
            recorder.take()
            node = f"{kind}:{'a:' * colons}z{version}"
            assert api.status(path, nodeId=node, **needed) in (400, 404), (path, colons)
            assert recorder.take() <= _MOST, (path, colons)
    assert recorder.on_loop == []


@pytest.mark.parametrize("kind", _KINDS)
def test_resolving_takes_a_bounded_number_of_statements(
    api: Api, recorder: Recorder, kind: str
) -> None:
    _send_nested(api, 3)
    for colons in _COLONS:
        recorder.take()
        api.get("/resolve", name=f"{kind}:{'a:' * colons}z")
        assert recorder.take() <= _MOST_RESOLVING, colons


def test_limited_keys_pay_a_bounded_number_of_statements(
    store_url: str, recorder: Recorder, open_api: OpenApi
) -> None:
    """Also where a request names many nodes, or one that is longer than any."""
    with open_api(store_url) as api:
        _send_nested(api, 3)
    database = open_database(store_url)
    headers = {"authorization": f"Bearer {create_key(database, 'team', ['read'], ['lab'])}"}
    database.close()
    with TestClient(make_app(Settings(store=store_url)), base_url="http://127.0.0.1") as client:
        for kind, colons in itertools.product(_KINDS, (*_COLONS, 15_000)):
            recorder.take()
            node = f"{kind}:{'a:' * colons}z"
            asked = client.get("/api/v1/impact", params={"nodeId": node}, headers=headers)
            assert asked.status_code == 403
            assert recorder.take() <= _MOST, (kind, colons)
        nodes = [f"dataset:a:b{number}" for number in range(1000)]
        asked = client.get("/api/v1/impact", params={"nodeId": nodes}, headers=headers)
        assert asked.status_code == 400
        assert "nodeId" in asked.json()["message"]
        assert recorder.take() <= _MOST


def test_too_many_ways_to_read_a_column_are_refused(api: Api, recorder: Recorder) -> None:
    """Only where many namespaces begin the text; elsewhere all ways are tried."""
    _send_nested(api, 40)
    node = f"datasetField:{'a:' * 39}a:b:c"
    assert api.status("/impact", nodeId=node) == 200
    recorder.take()
    node = f"datasetField:{'a:' * 1500}z"
    for path, needed in _routes(api):
        asked = api.client.get(f"/api/v1{path}", params={"nodeId": node, **needed})
        assert asked.status_code in (400, 404), path
        assert recorder.take() <= _MOST, path
    refused = api.client.get("/api/v1/impact", params={"nodeId": node})
    assert (refused.status_code, "colons" in refused.json()["message"]) == (400, True)


def test_the_same_way_to_read_a_node_id_is_preferred(api: Api) -> None:
    """As if each way was tried on its own, the likeliest first."""
    chance = random.Random(7)
    parts = ("a", "b", "9", "k://h", "", "é")

    def text(most: int) -> str:
        return ":".join(chance.choices(parts, k=chance.randint(1, most))) or "a"

    events = []
    for number in range(150):
        event = run_event(job=text(3), run=str(number), outputs=[dataset(text(3), text(3))])
        event["job"]["namespace"] = text(3)
        events.append(event)
    api.send_batch(*events)
    database, found = open_database(api.store_url), 0
    rules = AliasRules((("b", "a"),))
    with StoreViews(database, rules).open_view() as view:
        for _ in range(500):
            rest = ":".join(chance.choices(parts, k=chance.randint(1, 7)))
            version = chance.choice(("", _VERSION))
            for kind in _KINDS:
                node = NodeId.parse(f"{kind}:{rest}{version}")
                if node is not None:
                    expected = _slowly(view, node)
                    assert _quickly(view, node) == expected, node
                    found += expected is not None
    database.close()
    assert found > 250


def _quickly(view: StoreView, node: NodeId) -> Any:
    if node.kind is NodeKind.FIELD:
        return view.find_field(node)
    return view.find_job(node) if node.kind is NodeKind.JOB else view.find_dataset(node)


def _slowly(view: StoreView, node: NodeId) -> Any:
    if node.kind is not NodeKind.FIELD:
        by_name = view.job_id if node.kind is NodeKind.JOB else view.dataset_id
        texts = (node.whole, node) if node.version else (node,)
        ids = (by_name(*names) for text in texts for names in text.splits())
        return next((number for number in ids if number is not None), None)
    for cut in reversed([i for i, c in enumerate(node.rest) if c == ":" and i > 0]):
        root = _slowly(view, NodeId(NodeKind.DATASET, node.rest[:cut], None))
        if root is not None and node.rest[cut + 1 :]:
            return root, node.rest[cut + 1 :]
    return None
