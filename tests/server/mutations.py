"""Mutations of real events: values dropped, nulled, retyped, enlarged, nested and doubled.

An event is mutated as a tree and written as text, so that it may hold what no encoder writes:
numbers without end, half surrogate pairs, keys that stand twice.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from server.events import (
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    lineage,
    parent,
    run_event,
    schema,
    symlinks,
)  # fmt: skip

_RECORDED = Path(__file__).parents[1] / "contract" / "marquez" / "events.jsonl"
_LONG = "".join(f"{number:x}." for number in range(900))  # which no index holds
_NESTED = '{"name": "n", "type": "struct", "fields": [' * 60 + "]}" * 60


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


# JSON texts to put in place of a value.
VALUES = (
    "null", "true", "0", "-1", "1.5", '""', '" "', '"x"', "[]", "{}", "[null]", "[{}]", "[[]]",
    "1e300", "-1e300", "1e400", "9223372036854775807", "9223372036854775808",
    "-9223372036854775809", "18446744073709551616", "1" + "0" * 400,
    "1" + "0" * 5000, "NaN", "Infinity", '"NaN"', "-0.0",
    r'"\u0000"', r'"a\u0000b"', r'"\ud800"', r'"\udc00 x"', r'"\ud83d\ude00"', '"\\/"',
    json.dumps(_LONG), json.dumps("é" * 1024), json.dumps("x" * 1025), json.dumps("😀" * 700),
    _deep(50), _deep(600), _deep(3000), '{"a":' * 600 + "1" + "}" * 600,
    '{"_deleted": null}', '{"_deleted": true}', '{"_deleted": "yes"}', '{"_deleted": 1e300}',
    '{"seconds": 1e300}', '{"seconds": -1}', '{"seconds": 1e-300}', '{"seconds": null}',
    '{"fields": null}', '{"fields": [null]}', '{"fields": [{"name": "a"}, {"name": "a"}]}',
    '{"fields": {"a": null}}', '{"fields": {"a": {"inputFields": null}}}', _NESTED,
    '{"fields": [' + _NESTED + "]}",
    '{"identifiers": [null]}', '{"identifiers": null}', '{"name": "", "uri": ""}',
    json.dumps({"name": _LONG, "uri": _LONG}), json.dumps({"description": _LONG * 20}),
    '{"snapshots": [""]}', json.dumps({"snapshots": [_LONG, "1", "1"]}),
    '{"rows": 1e300}', '{"rows": 99999999999999999999}', '{"sources": [{"lag": 1e308}]}',
    '{"nominalStartTime": "9999-12-31T23:59:59Z", "nominalEndTime": "0001-01-01T00:00:00Z"}',
    '{"processingType": "\\u0000"}', '"9999-12-30T23:59:59Z"', '"0001-01-01T00:00:00Z"',
    '"2026-03-02T08:00:00.123456789+18:00"', '"COMPLETE"', '"complete"', '"OTHER"', '"DROP"',
    '"00000000-0000-0000-0000-000000000000"', '"{12345678-1234-1234-1234-123456789012}"',
)  # fmt: skip
# Keys to put beside others: facets that mean something, under any object.
_KEYS = (
    "schema", "columnLineage", "symlinks", "parent", "headwater_lease", "lifecycleStateChange",
    "headwater_progress", "headwater_lapse", "dataSource", "documentation", "nominalTime",
    "jobType", "sourceCodeLocation", "errorMessage", "_deleted", "facets", "inputFacets",
    "outputFacets",
    "eventType", "run", "job", "dataset", "inputs", "outputs", "root", "", "a\0b", "\ud800",
    "x" * 3000,
)  # fmt: skip
_OPS = ("drop", "put", "put", "put", "add", "add", "double", "twice")


class Mutation(NamedTuple):
    """What to do at one of an event's places, all by number."""

    op: str
    place: int
    value: int
    key: int


class _Text(str):
    """JSON that is written as it is."""

    __slots__ = ()


class _Twice(dict[str, Any]):
    """An object in which every key stands twice, first with null."""


def _rich() -> list[dict[str, Any]]:
    """Events with every facet that the server reads."""
    progress = facet(
        rows=5, inputRowsPerSecond=1.5, watermark="2026-03-02T08:00:00Z", snapshots=["1", "2"],
        sources=[{"description": "t", "lag": 3, "startOffset": {"0": 1}, "endOffset": {"0": 2}}],
        commits=[{"batch": 0, "snapshot": "1", "sequence": 1, "offsets": {"t": {"0": [1, 2]}}}],
    )  # fmt: skip
    table = dataset(
        "t", schema=schema("a", "b:int"), columnLineage=lineage(a=[comes_from("s", "k")]),
        symlinks=symlinks(("db", "alias")), dataSource=facet(name="src", uri="db://x"),
        documentation=facet(description="words"),
        lifecycleStateChange=facet(lifecycleStateChange="RENAME",
                                   previousIdentifier={"namespace": "db", "name": "old"}),
    )  # fmt: skip
    table["outputFacets"] = {"outputStatistics": facet(rowCount=3, size=5)}
    root = {"run": {"runId": "00000000-0000-0000-0000-00000000000a"},
            "job": {"namespace": "jobs", "name": "root"}}  # fmt: skip
    jobs = {"jobType": facet(processingType="STREAMING", integration="SPARK", jobType="QUERY"),
            "sourceCodeLocation": facet(type="git", url="https://example.org"),
            "documentation": facet(description="job")}  # fmt: skip
    declared = {"namespace": "jobs", "name": "job", "facets": jobs}
    return [
        run_event("START", 1, inputs=[dataset("s", schema=schema("k"))], outputs=[table],
                  job_facets=jobs, parent=parent("p", "above", root=root),
                  headwater_lease=facet(seconds=60),
                  nominalTime=facet(nominalStartTime="2026-03-02")),
        run_event("RUNNING", 2, inputs=["s"], outputs=[table], headwater_progress=progress),
        run_event("FAIL", 3, outputs=[table], errorMessage=facet(message="no", stackTrace="at x")),
        run_event("COMPLETE", 4, run="next", inputs=[table], outputs=["u"]),
        job_event(5, inputs=["s"], outputs=[table]) | {"job": declared},
        dataset_event(6, table),
    ]  # fmt: skip


def _read_recorded() -> list[dict[str, Any]]:
    lines = _RECORDED.read_text().splitlines()
    return [json.loads(line) for line in lines if len(line) < 8000][::5]


EVENTS = [*_rich(), *_read_recorded()]
_mutations = st.builds(
    Mutation,
    st.sampled_from(_OPS),
    st.integers(0, 400),
    st.integers(0, len(VALUES) - 1),
    st.integers(0, len(_KEYS) - 1),
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real event with a few changes, as text."""
    tree = json.loads(json.dumps(draw(st.sampled_from(EVENTS))))
    for mutation in draw(st.lists(_mutations, max_size=3)):
        tree = _mutate(tree, mutation)
    return write(tree).encode("utf-8", "surrogatepass")


def write(tree: Any) -> str:
    """A tree as JSON, with what it holds as text left as it is."""
    if isinstance(tree, _Text):
        return str(tree)
    if isinstance(tree, dict):
        keys = [key for key in tree for _ in range(1 + isinstance(tree, _Twice))]
        first: set[str] = set()
        parts = []
        for key in keys:
            is_null = isinstance(tree, _Twice) and key not in first
            first.add(key)
            parts.append(f"{json.dumps(key)}:{'null' if is_null else write(tree[key])}")
        return "{" + ",".join(parts) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(write(inner) for inner in tree) + "]"
    return json.dumps(tree, ensure_ascii=False)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every place of a tree, as what holds it and its key there."""
    keys = range(len(tree)) if isinstance(tree, list) else [*tree] if isinstance(tree, dict) else []
    found = [(tree, key) for key in keys]
    return found + [place for key in keys for place in _places(tree[key])]


def _mutate(tree: Any, mutation: Mutation) -> Any:
    places = _places(tree)
    if not places:
        return tree
    holder, key = places[mutation.place % len(places)]
    inner, text = holder[key], _Text(VALUES[mutation.value])
    if mutation.op == "drop":
        del holder[key]
    elif mutation.op == "put":
        holder[key] = text
    elif mutation.op == "add":
        if isinstance(inner, dict):
            inner[_KEYS[mutation.key]] = text
        elif isinstance(inner, list):
            inner.append(text)
    elif mutation.op == "double" and isinstance(inner, list):
        inner.extend(inner)
    elif mutation.op == "twice" and isinstance(inner, dict):
        holder[key] = _Twice(inner)
    return tree
