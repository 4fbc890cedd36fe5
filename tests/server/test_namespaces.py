"""Keys that are for some namespaces: what they may report, change and see, in every direction."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from litestar.testing import TestClient

from headwater.errors import RunOfAnother
from headwater.openlineage.masking import Masker, mask_event
from headwater.server.http.app import assemble
from headwater.server.http.limited_events import read_limited
from headwater.server.ingest import scrubbing
from headwater.server.service import Service
from headwater.server.settings import Settings
from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key, list_keys, revoke_key
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    lineage,
    parent,
    run_event,
    run_id,
    schema,
    symlinks,
)
from server.process import ServerProcess
from server.stores import Stores
from server.streams import Watcher
from server.test_access import NEEDS

HERE = "http://127.0.0.1"
SECRET = "PRODSECRET"  # stands in everything that is known of `prod` but its names
N = "/api/v1/namespaces"
TOLD = {"documentation": facet(description=SECRET), "ownership": facet(owners=[{"name": SECRET}])}


def _of(namespace: str, event: Event) -> Event:
    event["job"]["namespace"] = namespace
    return event


def _prod(name: str, **facets: Any) -> dict[str, Any]:
    return dataset(name, "prod", schema=schema(f"{SECRET}_column", "id"), **TOLD, **facets)


PROD = [  # ours is fed by prod, and feeds it
    _of("prod", run_event(
        "START", 1, run="prod-run", job="prod-job", inputs=[_prod("source")],
        outputs=[
            _prod("table", columnLineage=lineage(id=[comes_from("source", "id", "prod")])),
            dataset("ours", "lab", schema=schema("id")),
        ],
        job_facets=TOLD, processing=facet(note=SECRET), errorMessage=facet(message=SECRET),
        parent=parent("prod-parent", "prod-flow", "prod"),
    )),
    _of("prod", run_event("RUNNING", 2, run="prod-run", job="prod-job", note=facet(text=SECRET))),
    _of("prod", run_event("START", 3, run="prod-reader", job="prod-reader",
        inputs=[dataset("made", "lab")], outputs=[_prod("far")], job_facets=TOLD)),
    _of("prod", run_event("START", 3, run="prod-other", job="prod-other",
        inputs=[_prod("far")], outputs=[_prod("farther")], job_facets=TOLD)),
]  # fmt: skip
LAB = [
    _of("lab", run_event("START", 4, run="lab-run", job="lab-job",
        inputs=[dataset("table", "prod"), dataset("ours", "lab")],
        outputs=[dataset("made", "lab", schema=schema("a"),
                         columnLineage=lineage(a=[comes_from("table", "id", "prod")]))])),
]  # fmt: skip


class Team:
    """A server with prod's and lab's lineage, an operator, and a client with a key for `lab`."""

    def __init__(self, client: TestClient[Any], service: Service, operator: str, team: str) -> None:
        self.client, self.service = client, service
        self._keys = {who: {"authorization": f"Bearer {key}"} for who, key in (
            ("operator", operator), ("team", team))}  # fmt: skip

    def ask(self, who: str, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = dict(self._keys[who])
        content = None
        if body is not None:
            headers["content-type"], content = "application/json", as_bytes(body)
        return self.client.request(method, path, headers=headers, content=content)

    def send(self, who: str, event: Any) -> int:
        return self.ask(who, "POST", "/api/v1/lineage", event).status_code

    def prod(self) -> str:
        """Everything that the operator finds of prod."""
        paths = [
            f"{N}/prod", f"{N}/prod/jobs", f"{N}/prod/datasets", f"{N}/prod/jobs/prod-job/runs",
            f"{N}/prod/datasets/table/versions", "/api/v1/sources", f"{N}/prod/jobs/prod-job",
            f"/api/v1/jobs/runs/{run_id('prod-run')}", f"/api/v1/jobs/runs/{run_id('prod-parent')}",
            "/api/v1/column-lineage?nodeId=dataset:prod:table",
        ]  # fmt: skip
        found = [self.ask("operator", "GET", path).json() for path in paths]
        # When a thing was last named changes by naming it, which is allowed.
        return re.sub(r'"updatedAt": "[^"]*"', "", json.dumps(found, indent=1))


@contextmanager
def open_team(store_url: str, *namespaces: str) -> Iterator[Team]:
    """An operator, and a key for some namespaces, with nothing reported."""
    database = open_database(store_url)
    operator = create_key(database, "operator", ["read", "write", "admin"])
    limited = create_key(database, "team", ["read", "write", "admin"], [*namespaces])
    database.close()
    app, service = assemble(Settings(store=store_url))
    with TestClient(app, base_url=HERE) as client:
        yield Team(client, service, operator, limited)


@pytest.fixture
def team(store_url: str) -> Iterator[Team]:
    with open_team(store_url, "lab", "ours://") as found:
        for event in (*PROD, *LAB):
            assert found.send("operator", event) == 201
        found.ask("operator", "PUT", "/api/v1/sources/prod-source",
                  {"type": "DB", "connectionUrl": "db://prod"})  # fmt: skip
        yield found


def test_a_limited_key_reports_its_own_and_names_others(team: Team) -> None:
    before = team.prod()
    event = _of("lab", run_event(
        "START", 9, run="lab-2", job="lab-2",
        inputs=[dataset("table", "prod", schema=schema("stolen"), **TOLD)],
        outputs=[dataset("fresh", "lab", schema=schema("b"),
                         columnLineage=lineage(b=[comes_from("table", "id", "prod")])),
                 dataset("bucket", "ours://x", schema=schema("c"))],
        parent=parent("lab-flow-run", "lab-flow", "lab"),
    ))  # fmt: skip
    assert team.send("team", event) == 201
    told = team.ask("team", "GET", f"{N}/lab/datasets/fresh").json()
    assert [field["name"] for field in told["fields"]] == ["b"]
    job = team.ask("team", "GET", f"{N}/lab/jobs/lab-2").json()
    assert [(name["namespace"], name["name"]) for name in job["inputs"]] == [("prod", "table")]
    assert team.send("team", dataset_event(1, dataset("own", "lab", schema=schema("x")))) == 201
    assert team.prod() == before


def test_names_are_compared_as_they_are_stored(store_url: str) -> None:
    database = open_database(store_url)
    operator = create_key(database, "operator", ["read", "write", "admin"])
    limited = create_key(database, "team", ["read", "write"], ["lab", "postgres://lab"])
    database.close()
    app, service = assemble(Settings(store=store_url))
    with TestClient(app, base_url=HERE) as client:
        team = Team(client, service, operator, limited)
        theirs, spelt = "postgres://someone:secret@prodhost", "postgres://lab:secret@prodhost"
        told = dataset("t", theirs, schema=schema("id"), **TOLD)
        assert team.send("operator", _of("prod", run_event("START", 1, outputs=[told]))) == 201
        stored = f"{N}/{quote('postgres://******@prodhost', '')}/datasets/t"
        before = team.ask("operator", "GET", stored).json()
        assert [field["name"] for field in before["fields"]] == ["id"]
        job = run_event("START", 2, run="lab", job="lab-job")
        assert team.send("team", _of(spelt, job)) == 403
        flow = run_event("START", 2, run="flow", parent=parent("above", "flow", spelt))
        assert team.send("team", _of("lab", flow)) == 403
        taken = dataset("t", spelt, schema=schema("stolen"), documentation=facet(description="x"))
        assert team.send("team", dataset_event(2, taken)) == 403
        job["job"]["namespace"] = "lab"
        linked = dataset("grab", "lab", symlinks=symlinks((spelt, "t")))
        assert team.send("team", job | {"outputs": [taken, linked]}) == 201
        after = team.ask("operator", "GET", stored).json()
        for what in ("fields", "facets", "description"):
            assert after[what] == before[what]
        assert SECRET not in team.ask("team", "GET", f"{N}/lab/datasets/grab").text


FORBIDDEN: dict[str, Any] = {
    "a job of others": _of("prod", run_event("FAIL", 20, run="new", job="prod-job")),
    "a declared job of others": _of("prod", job_event(20, outputs=["x"])),
    "a dataset of others": dataset_event(20, dataset("table", "prod", schema=schema("x"))),
    "the end of a run of others": _of("lab", run_event("FAIL", 20, run="prod-run", job="mine")),
    "an earlier event of a run of others":
        _of("lab", run_event("START", 0, run="prod-run", job="mine")),
    "a parent that others own":
        _of("lab", run_event(run="c1", job="c", parent=parent("p-new", "prod-flow", "prod"))),
    "a new parent among others":
        _of("lab", run_event(run="c2", job="c", parent=parent("p-new", "no-such", "prod"))),
    "a parent run of others under an own job":
        _of("lab", run_event("FAIL", 0, run="c3", job="c",
                             parent=parent("prod-parent", "mine", "lab"))),
    "a root of others": _of("lab", run_event(run="c4", job="c", parent=parent(
        "p", "mine", "lab", root={"run": {"runId": run_id("r")},
                                  "job": {"namespace": "prod", "name": "prod-flow"}}))),
    "a root run of others": _of("lab", run_event(run="c5", job="c", parent=parent(
        "p", "mine", "lab", root={"run": {"runId": run_id("prod-parent")},
                                  "job": {"namespace": "lab", "name": "x"}}))),
}  # fmt: skip


def test_a_limited_key_cannot_report_for_others(team: Team) -> None:
    before = team.prod()
    codes = {what: team.send("team", event) for what, event in FORBIDDEN.items()}
    assert codes == dict.fromkeys(FORBIDDEN, 403)
    together = team.ask("team", "POST", "/api/v1/lineage", [*FORBIDDEN.values(), LAB[0]]).json()
    assert [result["status"] for result in together["results"]] == [403] * len(FORBIDDEN) + [201]
    lines = b"\n".join(as_bytes(event) for event in FORBIDDEN.values())
    batch = team.client.post(
        "/api/v1/lineage/batch", content=lines,
        headers=team._keys["team"] | {"content-type": "application/x-ndjson"},
    )  # fmt: skip
    assert batch.json()["stored"] == 0
    assert team.prod() == before


def test_a_run_that_another_takes_meanwhile_is_not_taken_over(team: Team) -> None:
    """The check is made as the event is stored, not as it is read."""
    service = team.service
    with service.open_view() as view:
        key = next(key for key in list_keys(view.session).values() if key.name == "team")
    for number, name in enumerate(("own", "parent", "root")):
        mine = {
            "own": run_event("FAIL", 0, run=name, job="mine"),
            "parent": run_event(run="c6", job="c", parent=parent(name, "mine", "lab")),
            "root": run_event(run="c7", job="c", parent=parent("p7", "mine", "lab", root={
                "run": {"runId": run_id(name)}, "job": {"namespace": "lab", "name": "x"}})),
        }[name]  # fmt: skip
        read = read_limited(service, as_bytes(_of("lab", mine)), key)
        later = _of("lab", {**mine, "eventTime": "2999-01-01T00:00:00Z"})
        deferred = read_limited(service, as_bytes(later), key)
        assert team.send("operator", _of("prod", run_event("START", number, run=name))) == 201
        before = team.prod()
        for event in (read, deferred):
            with pytest.raises(RunOfAnother):
                service.store.ingest([event]).result()
        assert team.prod() == before


def test_a_limited_key_cannot_change_others_through_its_own(team: Team) -> None:
    """Symlinks, renames, sources and facets of an own event that reach for things of others."""
    before = team.prod()
    taken = {"namespace": "prod", "name": "table"}
    for number, facets in enumerate((
        {"symlinks": symlinks(("prod", "table"))},
        {"lifecycleStateChange": facet(lifecycleStateChange="RENAME", previousIdentifier=taken)},
        {"dataSource": facet(name="prod-source", uri="db://evil")},
    )):  # fmt: skip
        own = dataset(f"grab{number}", "lab", schema=schema("evil"), **facets)
        assert team.send("team", dataset_event(30, own)) == 201
        event = _of("lab", run_event("COMPLETE", 31, run=f"g{number}", job="g", outputs=[own]))
        assert team.send("team", event) == 201
    outside = dataset("table", "prod", schema=schema("evil"), tags=facet(tags=[]), **TOLD)
    outside |= {"inputFacets": {"x": facet(y=1)}, "outputFacets": {"x": facet(y=1)}}
    event = _of("lab", run_event("COMPLETE", 40, run="g9", job="g", inputs=[outside]))
    assert team.send("team", event) == 201
    assert "evil" not in team.prod()
    assert team.prod() == before
    event = _of("lab", run_event("COMPLETE", 41, run="g10", job="g", outputs=[outside]))
    assert team.send("team", event) == 201
    written = team.ask("operator", "GET", f"{N}/prod/datasets/table").json()
    assert [field["name"] for field in written["fields"]] == [f"{SECRET}_column", "id"]
    assert (written["description"], written["facets"]["ownership"]["owners"]) == (
        SECRET, TOLD["ownership"]["owners"])  # fmt: skip


def test_routes_that_write_hold_a_limited_key(team: Team) -> None:
    before = team.prod()
    run, uuid = run_id("prod-run"), run_id("mine")
    for method, path, body, code in (
        ("PUT", f"{N}/prod", {"ownerName": "me"}, 403),
        ("PUT", f"{N}/%70rod", {"ownerName": "me"}, 403),
        ("PUT", f"{N}/lab-2", {"ownerName": "me"}, 200),
        ("PUT", f"{N}/prod/datasets/table", {"fields": []}, 403),
        ("PUT", f"{N}/lab/datasets/t", {"fields": [], "sourceName": "prod-source"}, 200),
        ("PUT", f"{N}/prod/jobs/prod-job", {}, 403),
        ("PUT", f"{N}/lab/jobs/j", {"inputs": [{"namespace": "prod", "name": "table"}]}, 200),
        ("POST", f"{N}/prod/jobs/prod-job/runs", {}, 403),
        ("POST", f"{N}/lab/jobs/lab-job/runs", {"id": run, "args": {"a": "b"}}, 403),
        ("POST", f"{N}/lab/jobs/lab-job/runs", {"id": uuid}, 201),
        ("POST", f"/api/v1/jobs/runs/{run}/fail", None, 403),
        ("POST", f"/api/v1/jobs/runs/{uuid}/start", None, 200),
        ("POST", f"{N}/prod/datasets/table/tags/T", None, 403),
        ("POST", f"{N}/prod/datasets/table/fields/id/tags/T", None, 403),
        ("POST", f"{N}/prod/jobs/prod-job/tags/T", None, 403),
        ("POST", f"{N}/lab/jobs/lab-job/tags/T", None, 200),
        ("PUT", "/api/v1/sources/prod-source", {"type": "X"}, 403),
        ("PUT", "/api/v1/tags/T", {}, 403),
        ("DELETE", f"{N}/prod", None, 403),
        ("DELETE", f"{N}/prod/jobs/prod-job", None, 403),
        ("DELETE", f"{N}/prod/datasets/table", None, 403),
        ("DELETE", f"{N}/prod/datasets/table/tags/T", None, 403),
        ("DELETE", f"{N}/lab/datasets/t", None, 200),
        ("GET", "/api/v1/audit", None, 403),
        ("POST", "/api/v1/pipelines/x/connectors", {}, 403),
    ):  # fmt: skip
        answered = team.ask("team", method, path, body)
        assert answered.status_code == code, (method, path, answered.text)
    assert team.prod() == before


def _questions() -> Iterator[str]:
    """Every route that reads, about things of prod, of lab, and about nothing in particular."""
    nodes = ("dataset:prod:table", "job:prod:prod-job", "dataset:lab:made", "job:lab:lab-job",
             "datasetField:lab:made:a", "dataset:lab:ours")  # fmt: skip
    texts = (SECRET, "prod", "table", "lab", "ours")
    for route in NEEDS:
        method, path = route.split(" ")
        if method != "GET" or "stream" in path or "/docs" in path or "audit" in path:
            continue
        for space, thing in (("prod", "table"), ("lab", "made"), ("prod", "prod-job"),
                             ("lab", "lab-job"), ("lab", "ours")):  # fmt: skip
            name = space if path.endswith("namespaces/{name}") else thing
            filled = path.replace("{namespace}", space).replace("{name}", name)
            run = run_id("prod-run" if space == "prod" else "lab-run")
            filled = filled.replace("{run_id}", run).replace("{asset}", "jobs")
            filled = re.sub(r"\{\w+\}", "x", filled)
            yield filled
            yield f"{filled}?type=run&runId={run}&kind=all"
        for node in nodes:
            yield f"{path}?nodeId={quote(node)}&withDownstream=true&detail=true"
            yield f"{path}?nodeId={quote(node)}&format=csv&mode=cumulative"
            yield f"{path}?nodeId={quote(node)}&aggregateByParentRun=true&asOf=2030-01-01T00:00:00Z"
        for text in texts:
            yield f"{path}?q={text}&namespace=lab&name={text}"
            yield f"{path}?q={text}&namespace=prod&namespace=lab&types=job,dataset,column,run"
            yield f"{path}?q={text}&types=job,dataset,column,run&period=DAY"


def test_nothing_of_others_is_told_to_a_limited_key(team: Team) -> None:
    told, seen = [], 0
    for path in dict.fromkeys(_questions()):
        if "{" in path:
            continue
        answered = team.ask("team", "GET", path)
        assert answered.status_code < 500, (path, answered.text)
        seen += answered.status_code == 200
        if SECRET in answered.text.replace(quote(SECRET), SECRET):
            told.append((path, answered.status_code))
    asked_back = [found for found in told if SECRET not in found[0] or found[1] == 200]
    assert not asked_back, (len(asked_back), asked_back[:10])
    assert seen > 40
    assert SECRET in team.prod()


def test_a_limited_key_sees_its_neighbours_by_name(team: Team) -> None:
    path = "/api/v1/lineage?nodeId=job:lab:lab-job"
    whole = {node["id"] for node in team.ask("operator", "GET", path).json()["graph"]}
    graph = {node["id"]: node for node in team.ask("team", "GET", path).json()["graph"]}
    assert {"dataset:prod:far", "job:prod:prod-other"} <= whole
    assert {*graph} == {
        "job:lab:lab-job", "dataset:lab:ours", "dataset:lab:made", "dataset:prod:table",
        "job:prod:prod-job", "job:prod:prod-reader",
    }  # fmt: skip
    table = graph["dataset:prod:table"]["data"]
    assert (table["name"], "fields" in table, "description" in table) == ("table", False, False)
    named = team.ask("team", "GET", N).json()["namespaces"]
    assert [space["name"] for space in named] == ["lab"]
    impact = team.ask("team", "GET", "/api/v1/impact?nodeId=dataset:lab:ours").json()["items"]
    assert {item["namespace"] for item in impact} == {"lab"}


def test_the_stream_of_a_limited_key(store_url: str, tmp_path: Path) -> None:
    """It tells of the key's jobs only, and ends when the key is revoked."""
    database = open_database(store_url)
    operator = create_key(database, "operator", ["read", "write"])
    limited = create_key(database, "team", ["read"], ["lab"])
    signed = {"authorization": f"Bearer {operator}"}
    with (
        ServerProcess(store_url, tmp_path / "log") as server,
        Watcher(server.url, key=limited) as mine,
        Watcher(server.url, key=operator) as all_,
    ):
        for event in (*PROD, *LAB):
            answer = httpx.post(f"{server.url}/api/v1/lineage", json=event, headers=signed)
            assert answer.status_code == 201
        last = _of("lab", run_event("COMPLETE", 5, run="lab-run", job="lab-job"))
        httpx.post(f"{server.url}/api/v1/lineage", json=last, headers=signed)
        all_.wait_until(lambda told: told.event == "run" and told.data["state"] == "COMPLETED")
        mine.wait_until(lambda told: told.event == "run" and told.data["state"] == "COMPLETED")
        assert "prod" in str(all_.told)
        assert "prod" not in str(mine.told)
        jobs = {told.data["job"]["namespace"] for told in mine.told if told.event == "run"}
        nodes = {node for told in mine.told for node in told.data.get("nodeIds", ())}
        assert (jobs, {node.split(":")[1] for node in nodes}) == ({"lab"}, {"lab"})
        revoke_key(database, "team")
        assert mine.ended.wait(60)
        assert not all_.ended.is_set()
    database.close()


def test_a_stream_without_a_key_ends_when_keys_are_needed(stores: Stores, tmp_path: Path) -> None:
    url = stores.new("sqlite")
    with ServerProcess(url, tmp_path / "log") as server, Watcher(server.url) as watching:
        database = open_database(url)
        create_key(database, "first", ["read"])
        database.close()
        assert watching.ended.wait(60)
    stores.drop(url)


def test_names_are_resolved_within_the_namespaces_of_a_key(team: Team) -> None:
    """Whatever is asked, nothing of other namespaces is told, not even that it is there."""
    both = dataset("lab-table", "lab", symlinks=symlinks(("prod", "joined")))
    assert team.send("operator", run_event(job="j", run="both", inputs=[both])) == 201
    asked = ("table", "prod-job", "job:prod:prod-job", "dataset:prod:table", "tabel", "prod:table",
             run_id("prod-run"), f"run:{run_id('prod-run')}", "a", "prod", "o", "joined",
             "datasetField:prod:table:a", "table.a", "job:prod-job", "lab-job",
             "lab-tabel")  # fmt: skip
    for name in asked:
        answer = team.ask("team", "GET", f"/api/v1/resolve?name={quote(name, '')}")
        assert answer.status_code == 200
        assert "prod" not in answer.text, (name, answer.text)
        found = team.ask("operator", "GET", f"/api/v1/resolve?name={quote(name, '')}")
        assert found.status_code == 200
    for name in ("lab-job", "job:lab:lab-job", "job:lab-job"):
        [node] = [team.ask("team", "GET", f"/api/v1/resolve?name={name}").json()["node"]]
        assert node["nodeId"] == "job:lab:lab-job"
    joined = team.ask("team", "GET", "/api/v1/resolve?name=dataset:lab:lab-table").json()
    assert (joined["node"]["nodeId"], joined["total"]) == ("dataset:lab:lab-table", 1)


def test_an_event_of_a_limited_key_is_searched_for_secrets_once(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []

    def counted(masker: Masker, event: Any) -> Any:
        searched.append(event)
        return mask_event(masker, event)

    monkeypatch.setattr(scrubbing, "mask_event", counted)
    odd = facet(password="hunter2", url="http://u:hunter2@h")
    event = _of("lab", run_event("START", 5, run="odd", job="lab-job", odd=odd))
    assert team.send("team", event) == 201
    assert len(searched) == 1
    stored = team.ask("operator", "GET", f"/api/v1/events/lineage?runId={event['run']['runId']}")
    assert "hunter2" not in stored.text
    assert "headwater_masked" in stored.text


# Written by hand: what is refused to a key with namespaces, whatever it asks about.
NOT_OF_ONE_NAMESPACE = {
    "GET /metrics", "GET /api/v1/events/search", "GET /api/v1/jobs", "GET /api/v1/kafka",
    "GET /api/v1/kafka/{cluster}/topics", "GET /api/v1/kafka/{cluster}/topics/{topic}",
    "GET /api/v1/kafka/{cluster}/topics/{topic}/messages", "GET /api/v1/lineage/changes",
    "GET /api/v1/lineage/diff", "GET /api/v1/lineage/whole", "GET /api/v1/pipelines",
    "GET /api/v1/pipelines/{name}/{rest}", "GET /api/v1/runlineage/upstream", "GET /api/v1/runs",
    "GET /api/v1/sources", "GET /api/v1/sources/{name}", "GET /api/v1/stats/{asset}",
    "GET /api/v1/tables", "GET /api/v1/tags", "GET /api/v1/audit",
    "PUT /api/v1/sources/{name}", "PUT /api/v1/tags/{name}",
    "POST /api/v1/pipelines/{name}/{rest}", "PUT /api/v1/pipelines/{name}/{rest}",
    "PATCH /api/v1/pipelines/{name}/{rest}", "DELETE /api/v1/pipelines/{name}/{rest}",
}  # fmt: skip


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_which_routes_a_limited_key_may_use(team: Team) -> None:
    """Asked about its own things, every other route answers it."""
    refused = set()
    for route in NEEDS:
        method, path = route.split(" ")
        if path == "/api/v1/stream":
            continue
        for old, new in (("{namespace}", "lab"), ("namespaces/{name}", "namespaces/lab-x"),
                         ("{name}", "made" if "datasets" in path else "lab-job"),
                         ("{run_id}", run_id("lab-run"))):  # fmt: skip
            path = path.replace(old, new)
        path = re.sub(r"\{\w+\}", "x", path)
        asked = f"?nodeId=job:lab:lab-job&namespace=lab&q=x&runId={run_id('lab-run')}"
        code = team.ask("team", method, path + asked, {} if method != "GET" else None).status_code
        if code == 403:
            refused.add(route)
    assert refused == NOT_OF_ONE_NAMESPACE
