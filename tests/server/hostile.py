"""Requests of at most 64 KB on the wire that ask for far more than they seem to."""

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from server.events import (
    as_bytes,
    comes_from,
    dataset,
    facet,
    lineage,
    minute,
    run_event,
    schema,
)  # fmt: skip

MOST = 65_536  # bytes of a request
_JSON = "application/json"
_LINES = "application/x-ndjson"


class Hostile(NamedTuple):
    """A request, and the answers that are in order."""

    name: str
    method: str
    path: str
    body: bytes
    headers: dict[str, str]
    allowed: frozenset[int]


def _post(name: str, body: bytes, *allowed: int, kind: str = _JSON) -> Hostile:
    packed = gzip.compress(body, 9) if len(body) > 2000 else body
    headers = {"content-type": kind} | ({"content-encoding": "gzip"} if packed is not body else {})
    path = "/api/v1/lineage/batch" if kind == _LINES else "/api/v1/lineage"
    assert len(packed) <= MOST, (name, len(packed))
    return Hostile(name, "POST", path, packed, headers, frozenset({*allowed, 503}))


def _get(name: str, path: str, *allowed: int) -> Hostile:
    return Hostile(name, "GET", path, b"", {}, frozenset({*allowed, 503}))


def _with(**facets: Any) -> bytes:
    return as_bytes(run_event("RUNNING", 1, run="hostile", job="hostile", **facets))


def _filled(filler: bytes, size: int) -> bytes:
    """An event with so many bytes of JSON inside a facet."""
    before, _, after = _with(x=facet(y="HERE", password="x")).partition(b'"HERE"')
    return before + b"[" + filler * (size // len(filler)) + b"1]" + after


def bodies() -> Iterator[Hostile]:
    """Events that grow when they are decompressed, decoded, searched for secrets or stored."""
    for word in ("x", "password", "password = ", "http://a:b@c ", "-----BEGIN PRIVATE KEY----- "):
        text = word * (4_000_000 // len(word))
        yield _post(f"4 MB of {word.strip()!r}", _with(x=facet(y=text)), 201)
    yield _post("8 MB and more", _with(x=facet(y="x" * 9_000_000)), 413)
    yield _post("60 MB of lists in an event", _filled(b"[],", 60_000_000), 413)
    yield _post("64 MB of zeros", b"0" * 64_000_000, 400, 413)
    yield _post("over 64 MB", b" " * 67_200_000, 413)
    yield _post("two gzip members", b"", 201)._replace(
        body=b"".join(map(gzip.compress, (_with()[:100], _with()[100:]))),
        headers={"content-type": _JSON, "content-encoding": "gzip"},
    )
    yield _post("many gzip members", b"", 400, 413)._replace(
        body=gzip.compress(b"") * 3000, headers={"content-type": _JSON, "content-encoding": "gzip"}
    )
    for filler in (b"1,", b"[],", b"{},", b'{"a":1},', b'"",', b"1.5,", b"null,"):
        name = filler.decode().strip(",")
        yield _post(f"an array of numbers or the like, {name}", _filled(filler, 4_000_000), 413)
        yield _post(f"an array of events, {name}", b"[" + filler * 500_000 + b"1]", 413)
        yield _post(f"lines, {name}", (filler[:-1] + b"\n") * 1_000_000, 413, kind=_LINES)
    yield _post("blank lines", b"\n" * 30_000_000, 413, kind=_LINES)
    yield _post("10,000 lines", b"{}\n" * 10_000, 422, kind=_LINES)
    wrong = (b'{"eventTime":"%d%s"}' % (i, b"x" * 150) for i in range(10_000))
    yield _post("10,000 lines, each wrong in its own way", b"\n".join(wrong), 422, kind=_LINES)
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        deep = opening * 60_000 + b"1" + closing * 60_000
        yield _post(
            f"deep nesting of {opening.decode()}",
            _with(x=facet(y="HERE")).replace(b'"HERE"', deep),
            400,
        )
        yield _post(f"an array, deep, of {opening.decode()}", b"[" + deep + b"]", 400, 422)
    columns = [f"column_{i}" for i in range(20_000)]
    wide = dataset("wide", schema=schema(*columns))
    yield _post(
        "20,000 columns", as_bytes(run_event("RUNNING", 2, job="wide", outputs=[wide])), 201
    )
    many = [dataset(f"part_{i}") for i in range(8000)]
    yield _post("8,000 inputs", as_bytes(run_event("RUNNING", 3, job="many", inputs=many)), 201)
    yield _post("8,000 outputs", as_bytes(run_event("RUNNING", 4, job="more", outputs=many)), 201)
    late = run_event(
        "RUNNING", -60, job="many", run="late", inputs=many[:4000], outputs=many[4000:]
    )
    yield _post("8,000 datasets, out of order", as_bytes(late), 201)
    names = [{"namespace": "db", "name": f"name_{i}", "type": "TABLE"} for i in range(4000)]
    linked = dataset("linked", symlinks=facet(identifiers=names))
    yield _post("4,000 symlinks", as_bytes(run_event("RUNNING", 5, job="l", outputs=[linked])), 422)
    for number, (name, mapping) in enumerate(_dotted().items()):
        written = dataset(name, columnLineage=mapping)
        event = run_event("RUNNING", 6 + number, job=name, inputs=["deep"], outputs=[written])
        yield _post(f"dotted columns: {name}", as_bytes(event), 201)
    events = [run_event("COMPLETE", i / 60, job="j", run=f"{i}") for i in range(2000)]
    yield _post("2,000 events", b"\n".join(map(as_bytes, events)), 201, kind=_LINES)


def _dotted() -> dict[str, dict[str, Any]]:
    """Column lineage with thousands of names that are, or may be, values inside columns."""
    inside = [comes_from("deep", f"a.{i}") for i in range(4000)]
    return {
        "levels": lineage(o=[comes_from("deep", f"{i}{'.a' * 500}") for i in range(2000)]),
        "inside": lineage(o=inside),
        "deciding": {
            **lineage(**{f"a{i}": [comes_from("deep", f"c{i}")] for i in range(2000)}),
            "dataset": inside[:2000],
        },
    }


def questions() -> Iterator[Hostile]:
    """Questions that ask for too much."""
    for name in _dotted():
        for node in (f"dataset:db:{name}", "dataset:db:deep", "datasetField:db:deep:a"):
            for path in (
                f"column-lineage?withDownstream=true&nodeId={node}",
                f"impact?nodeId={node}",
            ):
                yield _get(f"{path} of {name}", f"/api/v1/{path}", 200, 404, 413)
    letters = "abcdefghij" * 6000
    for path in ("search?q=", "datasets?q=", "jobs?q=", "events/search?q=", "lineage?nodeId="):
        yield _get(f"60,000 letters to {path}", f"/api/v1/{path}{letters}", 400)
    for text in ("a" * 1000, "a%25_" * 300, "ab " * 300, "column_" * 140):
        for path in (
            "search?q=",
            "search?types=dataset,column,job,run&q=",
            "datasets?q=",
            "jobs?q=",
        ):
            yield _get(f"{text[:7]}… to {path}", f"/api/v1/{path}{text}", 200, 400)
    for path in (
        "events/lineage", "events/search", "namespaces", "jobs", "datasets", "runs", "sources",
        "tags", "search?q=a", "lineage/whole", "lineage/changes",
    ):  # fmt: skip
        sign = "&" if "?" in path else "?"
        yield _get(f"limit=10000000 of {path}", f"/api/v1/{path}{sign}limit=10000000", 400)
        yield _get(f"limit=10000 of {path}", f"/api/v1/{path}{sign}limit=10000", 200, 400)
    yield _get("15,000 parameters", "/api/v1/jobs?" + "a=1&" * 15_000, 400)
    yield _get("15,000 names", "/api/v1/jobs?" + "name=a&" * 9000, 400)
    for path in ("lineage", "impact", "origin", "lineage/diff", "lineage/changes"):
        node = "job:jobs:many" if path != "impact" else "dataset:db:part_1"
        yield _get(f"{path} of 8,000 datasets", f"/api/v1/{path}?nodeId={node}&depth=10000", 200)
    yield _get("20,000 columns of a dataset", "/api/v1/namespaces/db/datasets/wide", 200)
    yield _get("the whole graph", "/api/v1/lineage/whole?limit=20000", 200)


def sent_at(number: int) -> str:
    """A time that no other request has."""
    return minute(number / 60)


def varied(request: Hostile, number: int) -> Hostile:
    """A request that is not the same as the one before, where its body is an event."""
    if not request.name.startswith(("8,000", "20,000 columns", "4,000")) or not request.body:
        return request
    body = json.loads(gzip.decompress(request.body))
    body["producer"] = f"https://example.org/{number}"
    return request._replace(body=gzip.compress(as_bytes(body), 9))
