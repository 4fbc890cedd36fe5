"""Who may do what: every route, every kind of key, and hundreds of ways to spell the request."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from headwater.server.http.app import assemble, make_api
from headwater.server.settings import Settings
from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key
from server.process import ServerProcess
from server.spellings import Spelled, Wire, spellings
from server.stores import Stores

PAGE = Path(__file__).parents[2] / "docs" / "endpoints.md"
N = "/api/v1/namespaces"
D, J = f"{N}/{{namespace}}/datasets/{{name}}", f"{N}/{{namespace}}/jobs/{{name}}"
P = "/api/v1/pipelines/{name}/{rest}"

# Written by hand: what each route needs. Nothing here is computed by the server.
TABLE = {
    "open": [
        "GET /health", "GET /ready", "GET /api/v1/session", "GET /api/docs",
        "GET /api/docs/openapi.json", "GET /api/docs/{path}", "GET /api/docs-assets/{name}",
    ],
    "read": [
        "GET /metrics", "GET /api/v1/column-lineage", "GET /api/v1/datasets",
        "GET /api/v1/events/lineage", "GET /api/v1/events/search", "GET /api/v1/impact",
        "GET /api/v1/origin", "GET /api/v1/jobs", "GET /api/v1/jobs/runs/{run_id}",
        "GET /api/v1/jobs/runs/{run_id}/facets", "GET /api/v1/jobs/runs/{run_id}/tries",
        "GET /api/v1/kafka",
        "GET /api/v1/kafka/{cluster}/topics", "GET /api/v1/kafka/{cluster}/topics/{topic}",
        "GET /api/v1/kafka/{cluster}/topics/{topic}/messages", "GET /api/v1/lineage",
        "GET /api/v1/lineage/changes", "GET /api/v1/lineage/diff", "GET /api/v1/lineage/whole",
        f"GET {N}", f"GET {N}/{{name}}", f"GET {N}/{{namespace}}/datasets", f"GET {D}",
        f"GET {D}/snapshots", f"GET {D}/snapshots/{{snapshot}}/offsets", f"GET {D}/versions",
        f"GET {D}/versions/{{version}}", f"GET {N}/{{namespace}}/jobs", f"GET {J}",
        f"GET {J}/children", f"GET {J}/runs", f"GET {J}/versions", f"GET {J}/versions/{{version}}",
        "GET /api/v1/pipelines", f"GET {P}", "GET /api/v1/runlineage/upstream", "GET /api/v1/runs",
        "GET /api/v1/runs/{run_id}/lineage", "GET /api/v1/runs/{run_id}/progress",
        "GET /api/v1/search", "GET /api/v1/sources", "GET /api/v1/sources/{name}",
        "GET /api/v1/stats/{asset}", "GET /api/v1/stream", "GET /api/v1/tables", "GET /api/v1/tags",
        "GET /api/v1/resolve", "GET /api/v1/reached", "GET /api/v1/why",
    ],
    "write": [
        "POST /api/v1/lineage", "POST /api/v1/lineage/batch",
        "POST /api/v1/jobs/runs/{run_id}/{mark}", f"PUT {N}/{{name}}", f"PUT {D}", f"PUT {J}",
        f"POST {J}/runs", f"POST {D}/tags/{{tag}}", f"POST {D}/fields/{{field}}/tags/{{tag}}",
        f"POST {J}/tags/{{tag}}", "PUT /api/v1/sources/{name}", "PUT /api/v1/tags/{name}",
    ],
    "admin": [
        "GET /api/v1/audit", f"DELETE {N}/{{name}}", f"DELETE {D}", f"DELETE {J}",
        f"DELETE {D}/tags/{{tag}}", f"DELETE {D}/fields/{{field}}/tags/{{tag}}",
        f"DELETE {J}/tags/{{tag}}", f"POST {P}", f"PUT {P}", f"PATCH {P}", f"DELETE {P}",
    ],
}  # fmt: skip
NEEDS = {route: scope for scope, routes in TABLE.items() for route in routes}
KEYS = ("read", "write", "admin")
LETS_IN = {  # which keys pass where
    "open": {"nobody", *KEYS}, "read": {"read", "admin"}, "write": {"write", "admin"},
    "admin": {"admin"},
}  # fmt: skip


class Guarded(NamedTuple):
    """A server that has keys, and the keys."""

    server: ServerProcess
    keys: dict[str, bytes]


@pytest.fixture(scope="module")
def guarded(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    url = stores.new("sqlite")
    database = open_database(url)
    keys = {scope: create_key(database, scope, [scope]) for scope in KEYS}
    database.close()
    log = tmp_path_factory.mktemp("access") / "server.log"
    with ServerProcess(url, log) as server:
        bearing = {who: f"Authorization: Bearer {key}".encode() for who, key in keys.items()}
        yield Guarded(server, bearing)
    stores.drop(url)


def concrete(route: str) -> tuple[str, str]:
    """A route's method, and an address of it that names nothing that exists."""
    method, path = route.split(" ")
    path = path.replace("{rest}", "connectors/c").replace("{asset}", "jobs")
    path = path.replace("{mark}", "start").replace("{run_id}", str(UUID(int=1)))
    return method, re.sub(r"\{(\w+)\}", r"\1", path)


def test_the_table_names_every_route(stores: Stores) -> None:
    url = stores.new("sqlite")
    _, service = assemble(Settings(store=url))
    found = {
        f"{method} {route.path_format}"
        for route in make_api(service).routes
        for method in getattr(route, "methods", ())
        if method != "OPTIONS"  # which Litestar adds to each; undeclared, and so refused
    }
    service.store.close()
    stores.drop(url)
    assert found == {*NEEDS}


def test_every_route_with_every_key(guarded: Guarded) -> None:
    wire, lines = Wire(guarded.server.port), []
    for route in sorted(NEEDS, key=lambda route: (route.split(" ")[1], route)):
        method, path = concrete(route)
        codes = {}
        for who in ("nobody", *KEYS):
            headers = [guarded.keys[who]] if who != "nobody" else []
            code = wire.ask(Spelled(method, path.encode()), *headers).status
            refusal = 401 if who == "nobody" else 403
            is_in = who in LETS_IN[NEEDS[route]]
            assert (code in (401, 403)) != is_in, (route, who, code)
            assert is_in or code == refusal, (route, who, code)
            assert code < 500 or path.startswith("/api/v1/kafka"), (route, who, code)
            codes[who] = str(code) if code in (401, 403) else "200"
        lines.append(f"| `{route}` | {' | '.join(codes.values())} |")
    wire.close()
    assert "\n".join(lines) in PAGE.read_text(), "docs/endpoints.md: " + "\n".join(lines)


# The only answers that tell nothing: whatever else comes back, a handler was reached.
REFUSALS = {
    0: b"", 400: b"not in normal form|Invalid HTTP request|Invalid host header", 401: b"", 403: b"",
    404: rb'^\{"code":404,"message":"Not Found"\}$', 405: b"",
}  # fmt: skip
FOR_ALL = rb'<!doctype html|\{"status":|\{"required":|<!DOCTYPE html'


def _is_let_in(method: str, code: int, body: bytes) -> bool:
    """Whether an answer is more than a refusal; the page and its like are for everyone."""
    if code in (200, 404) and re.search(FOR_ALL, body):
        return False
    return code not in REFUSALS or (method != "HEAD" and not re.search(REFUSALS[code], body))


@pytest.mark.parametrize("who", ["nobody", "read", "write"])
def test_no_spelling_lets_anyone_in(guarded: Guarded, who: str) -> None:
    wire, tried, wrong = Wire(guarded.server.port), 0, []
    before = _state(wire, guarded)
    headers = [guarded.keys[who]] if who != "nobody" else []
    for route, needed in NEEDS.items():
        if who in LETS_IN[needed]:
            continue
        made = spellings(*concrete(route), 500 if who == "nobody" else 100)
        asked = [spelled for spelled in made if not _passes_by_table(spelled, who)]
        assert len(asked) >= 500 or who != "nobody"
        tried += len(asked)
        for spelled in asked:
            code, body = wire.ask(spelled, *headers)
            if _is_let_in(spelled.method, code, body):
                wrong.append((route, spelled, code, body[:100]))
    assert not wrong, (len(wrong), tried, wrong[:20])
    assert _state(wire, guarded) == before
    wire.close()


def _state(wire: Wire, guarded: Guarded) -> list[bytes]:
    """What a request that was let in might have changed."""
    asked = ("/events/lineage?kind=all", "/namespaces", "/sources", "/tags", "/audit", "/jobs")
    paths = [Spelled("GET", f"/api/v1{path}".encode()) for path in asked]
    return [wire.ask(path, guarded.keys["admin"]).body for path in paths]


def _passes_by_table(spelled: Spelled, who: str) -> bool:
    """Whether the table lets a key do what a spelling plainly asks: another method, say."""
    path = spelled.target.partition(b"?")[0].rstrip(b"/").decode("latin-1")
    if b"#" in spelled.target or "//" in path or "/." in path or "%2e" in path.lower():
        return False
    return any(
        who in LETS_IN[needed] and re.fullmatch(_pattern(route), f"{spelled.method} {path}")
        for route, needed in NEEDS.items()
    )


def _pattern(route: str) -> str:
    return re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(route)).replace(
        re.escape("/pipelines/") + "[^/]+/[^/]+", re.escape("/pipelines/") + "[^/]+/.+"
    )
