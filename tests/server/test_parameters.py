"""Every parameter of every route has a most, and says so."""

from collections.abc import Iterator
from typing import Any

import pytest

from server.api import Api
from server.conftest import open_api
from server.questions import ENDLESS, operations
from server.stores import KINDS, Stores

KNOWN = {
    "nodeId": "job:none:none", "runId": "00000000-0000-4000-8000-000000000000", "q": "x",
    "type": "run", "name": "x", "partition": "0", "firstOffset": "0", "lastOffset": "0",
    "snapshot": "1",
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def api(request: pytest.FixtureRequest, stores: Stores) -> Iterator[Api]:
    """One server for all of these: none of them leaves anything behind."""
    with open_api(stores.new(request.param)) as found:
        yield found


def bounds(schema: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each type within a parameter's schema, and whether it has a most."""
    kinds = [schema, *schema.get("oneOf", ())]
    for kind in kinds:
        if kind.get("type") == "string":
            yield "string", "maxLength" in schema | kind or "enum" in kind
        if kind.get("type") == "integer":
            yield "integer", {"maximum", "minimum"} <= (schema | kind).keys()
        if kind.get("type") == "array":
            yield "array", "maxItems" in schema | kind
            yield from bounds(kind["items"])


def test_every_parameter_has_a_bound(api: Api) -> None:
    described = [
        (asked.method, asked.path, parameter["name"], kind, is_bound)
        for asked in operations(api)
        for parameter in asked.parameters
        for kind, is_bound in bounds(parameter["schema"])
    ]
    assert len(described) > 100
    assert [each for each in described if not each[-1]] == []


def test_whatever_is_beyond_a_bound_is_400_and_says_so(api: Api) -> None:
    tried = 0
    for asked in operations(api):
        if asked.method != "GET" or asked.path in ENDLESS:
            continue
        path = asked.path.format(**dict.fromkeys(asked.names("path"), "none"))
        for parameter in asked.parameters:
            if parameter["in"] != "query":
                continue
            name, schema = parameter["name"], parameter["schema"]
            if beyond := _beyond(schema):
                given = {n: KNOWN[n] for n in asked.needed()} | {name: beyond}
                answer = api.client.get(path, params=given)
                assert answer.status_code == 400, (path, name, answer.text[:200])
                assert f"query param {name} must" in answer.json()["errors"][0]
                tried += 1
    assert tried > 60


def _beyond(schema: dict[str, Any]) -> Any:
    for kind in (schema, *schema.get("oneOf", ())):
        if kind.get("type") == "string":
            return "x" * (schema["maxLength"] + 1)
        if kind.get("type") == "integer":
            return str(int(schema["maximum"]) + 1)
        if kind.get("type") == "array":
            return ["x"] * (schema["maxItems"] + 1)
    return None


@pytest.mark.parametrize("path", ["/search?q=", "/datasets?q=", "/jobs?q=", "/events/search?q="])
@pytest.mark.parametrize("letters", ["x" * 60_000, "abcdefghij" * 6000, "%25" * 20_000])
def test_a_text_of_60000_letters_is_refused(api: Api, path: str, letters: str) -> None:
    answer = api.client.get(f"/api/v1{path}{letters}")
    assert answer.status_code == 400
    assert "at most 1024 characters" in answer.json()["errors"][0]


@pytest.mark.parametrize("path", ["/namespaces/{}", "/jobs/runs/{}", "/sources/{}", "/stats/{}"])
def test_a_long_path_is_refused(api: Api, path: str) -> None:
    answer = api.client.get("/api/v1" + path.format("x" * 60_000))
    assert answer.status_code == 400
    assert "must have at most" in answer.json()["errors"][0]
