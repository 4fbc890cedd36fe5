"""Numbers that are none and bodies that nest too deeply are refused: no request is answered 500."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from server.events import dataset, run_event, run_id, schema
from server.process import ServerProcess
from server.questions import operations
from server.stores import KINDS, Stores

KNOWN = {
    "namespace": "jobs", "name": "job", "nodeId": "job:jobs:job", "runId": run_id("run"),
    "run_id": run_id("run"), "q": "x", "type": "run", "field": "a", "tag": "t", "period": "DAY",
}  # fmt: skip
_LONG = "9" * 19
NUMERALS = ("²", "①", "٣", "-1", "1e400", "nan", "1_0", "+1", _LONG, f"{_LONG}.{_LONG}", "9" * 60)


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """One server for all of these."""
    log: Path = tmp_path_factory.mktemp("odd") / "server.log"
    with ServerProcess(stores.new(request.param), log) as found:
        found.api.send(run_event("START", 0, outputs=[dataset("t", schema=schema("a"))]))
        yield found


def status(client: httpx.Client, method: str, path: str, **told: object) -> int:
    """The status of an answer, which may have no end."""
    with client.stream(method, path, **told) as answer:  # type: ignore[arg-type]
        return answer.status_code


def test_what_is_no_number_is_never_answered_500(server: ServerProcess) -> None:
    client, failed, tried = server.api.client, [], 0
    for asked in operations(server.api):
        if asked.method != "GET":
            continue
        path = asked.path.format(**{n: KNOWN.get(n, "x") for n in asked.names("path")})
        needed = {name: KNOWN.get(name, "x") for name in asked.needed()}
        for parameter in asked.parameters:
            name, place = parameter["name"], parameter["in"]
            for text in NUMERALS if place != "path" else ():
                headers = {name: text.encode()} if place == "header" else {}
                given = needed | ({name: text} if place == "query" else {})
                got = status(client, "GET", path, params=given, headers=headers)
                tried += 1
                if got >= 500:
                    failed.append((path, name, text, got))
    assert tried > 500
    assert failed == []


def test_latin_numerals_of_a_header_are_no_numbers(server: ServerProcess) -> None:
    for text in ("\xb2", "\xb9", "\xbc", "1\xb2"):
        sent = {"Last-Event-ID": text.encode("latin-1")}
        assert status(server.api.client, "GET", "/api/v1/stream", headers=sent) == 400, text


@pytest.mark.parametrize("depth", [500, 3_000, 100_000])
def test_a_body_that_nests_too_deeply_is_never_answered_500(
    server: ServerProcess, depth: int
) -> None:
    client, failed, tried = server.api.client, [], 0
    deep = '{"a":' * depth + "1" + "}" * depth
    places = ("x", "args", "fields", "inputs", "description", "type", "tags")
    bodies = [deep, "[" * depth + "]" * depth, *(f'{{"{name}":{deep}}}' for name in places)]
    for asked in operations(server.api):
        if asked.method not in ("PUT", "POST", "PATCH"):
            continue
        path = asked.path.format(**{n: KNOWN.get(n, "x") for n in asked.names("path")})
        for body in bodies:
            headers = {"content-type": "application/json"}
            got = status(client, asked.method, path, content=body, headers=headers)
            tried += 1
            if got >= 500:
                failed.append((asked.method, path, body[:20], got))
    assert tried > 80
    assert failed == []


def test_a_number_that_parsers_refuse_is_refused_wherever_it_stands(server: ServerProcess) -> None:
    for place in range(0, 1500, 97):
        for digits, status_of_number in ((1000, 201), (1001, 400), (5000, 400)):
            number = "7" * digits
            event = run_event(run=f"{place}-{digits}", odd={"a": "x" * place, "b": "NUMBER"})
            raw = msgspec.json.encode(event)
            as_number = server.api.post(raw.replace(b'"NUMBER"', number.encode()))
            assert as_number.status_code == status_of_number, (place, digits)
            as_text = server.api.post(raw.replace(b"NUMBER", number.encode()))
            assert as_text.status_code == 201, (place, digits)
